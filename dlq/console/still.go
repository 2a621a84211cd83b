package console

import (
	"encoding/json"
	"net/url"
	"time"
)

// still is what a page of the list showed when it was loaded. It stands in the
// address that the page fetches itself by, and not in its own: so the page shows
// the same dead letters while others come and go, and one who opens the same
// address later sees the latest.
type still struct {
	IDs   []string
	First time.Time // death of the first of the first page; zero on others
	Next  string    // token of the next page; "" at the end
}

// maxStill bounds the IDs' part of an address; the API takes URLs of 8 KiB. IDs
// that are longer in all are not remembered, and the page fetches what is the
// latest.
const maxStill = 6 << 10

func stillOf(query url.Values) *still {
	ids := query["row"]
	if len(ids) == 0 || len(ids) > listed {
		return nil
	}
	first, _ := time.Parse(time.RFC3339Nano, query.Get("first")) // zero: not the first page
	return &still{ids, first, query.Get("next")}
}

// named is what the API is asked for its IDs with.
func (s *still) named() string {
	ids, _ := json.Marshal(s.IDs) // texts can be encoded
	return string(ids)
}

// address is where the page on screen is fetched by again; "" for its own.
func (s *still) address(f filter, token string) string {
	q := f.query()
	if len(url.QueryEscape(s.named())) > maxStill {
		return ""
	}
	q["row"] = s.IDs
	if token != "" {
		q.Set("pageToken", token)
	}
	if !s.First.IsZero() {
		q.Set("first", s.First.Format(time.RFC3339Nano))
	}
	if s.Next != "" {
		q.Set("next", s.Next)
	}
	return address("/dlq", q)
}

// nextPage is the address of the page that follows; "" at the end.
func (s *still) nextPage(f filter) string {
	if s.Next == "" {
		return ""
	}
	q := f.query()
	q.Set("pageToken", s.Next)
	return address("/dlq", q)
}
