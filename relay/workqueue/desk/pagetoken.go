package desk

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"outboxrelay/dlq"
)

// position is where a page ended.
type position struct {
	At   time.Time
	Path string
}

// pageToken is what a token holds. It is worth nothing in another list.
type pageToken struct {
	List string    `json:"list"` // hash of the queue and the filter
	At   time.Time `json:"at"`
	Path []byte    `json:"path"` // in base64, since JSON may write a character as six
}

func token(queue string, f Filter, p position) string {
	data, _ := json.Marshal(pageToken{listHash(queue, f), p.At, []byte(p.Path)}) // neither times nor texts fail
	return base64.RawURLEncoding.EncodeToString(data)
}

func listHash(queue string, f Filter) string {
	data, _ := json.Marshal(f) // it has texts alone
	sum := sha256.Sum256(append([]byte(queue+"\x00"), data...))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// maxTokenBytes is over the longest that there is: a path has 6 KiB.
const maxTokenBytes = 16 << 10

// openPage checks a page, and returns where it begins after; zero: at the beginning.
func openPage(p *dlq.Page, queue string, f Filter) (position, error) {
	switch {
	case p.Limit == 0:
		p.Limit = dlq.DefaultPage
	case p.Limit < 0 || p.Limit > dlq.MaxPage:
		return position{}, &dlq.Refusal{Kind: dlq.Invalid, Detail: fmt.Sprintf("a page of %d is not between 1 and %d", p.Limit, dlq.MaxPage)}
	}
	if p.Token == "" {
		return position{}, nil
	}
	if len(p.Token) > maxTokenBytes {
		return position{}, damaged("it is too long")
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(p.Token)
	if err != nil {
		return position{}, damaged("it is not base64")
	}
	var t pageToken
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if dec.Decode(&t) != nil || dec.More() || len(t.Path) == 0 || t.At.Year() < 1 || t.At.Year() > 9999 {
		return position{}, damaged("it holds something else than a position")
	}
	if t.List != listHash(queue, f) {
		return position{}, &dlq.Refusal{
			Kind: dlq.Invalid, Detail: "the page token is of another list, or of another filter",
			Hint: "keep the filter while turning pages, or begin with the first page",
		}
	}
	return position{t.At, string(t.Path)}, nil
}

func damaged(why string) *dlq.Refusal {
	return &dlq.Refusal{Kind: dlq.Invalid, Detail: "the page token is damaged: " + why, Hint: "begin with the first page"}
}
