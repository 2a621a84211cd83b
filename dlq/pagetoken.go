package dlq

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"outboxrelay/contracts"
)

// position is where a page ends: in the order of a time and a document ID, or
// of the ID alone.
type position struct {
	At time.Time
	ID string
}

// positionOf is the place of a document in a query's order.
func positionOf(d Doc, q Query) position {
	return position{At: reading(d.Fields).time(q.OrderBy[0].Field), ID: d.ID}
}

// startAfter renders the position for a query; ok is false when it is none of
// that query's order.
func (p position) startAfter(q Query) (values []any, ok bool) {
	byID := q.OrderBy[0].Field == FieldID
	if byID != p.At.IsZero() {
		return nil, false
	}
	if byID {
		return []any{p.ID}, true
	}
	return []any{p.At, p.ID}, true
}

// pageToken is a position in one list. It is no secret: a forged one shows
// nothing but another part of the same list.
type pageToken struct {
	List string    `json:"list"` // hash of the list's name and filter
	At   time.Time `json:"at,omitzero"`
	ID   []byte    `json:"id"` // in base64, since JSON may write a character as six
}

func (t pageToken) position() position { return position{t.At, string(t.ID)} }

// token renders the position as the token of the next page.
func token(what string, filter any, p position) string {
	data, _ := json.Marshal(pageToken{List: listHash(what, filter), At: p.At, ID: []byte(p.ID)}) // neither times nor texts fail
	return base64.RawURLEncoding.EncodeToString(data)
}

func listHash(what string, filter any) string {
	data, _ := json.Marshal(filter) // filters are structs of texts and times
	sum := sha256.Sum256(append([]byte(what+"\x00"), data...))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// open checks a page's limit and token, and says after what of the query it
// begins; nil for the first page.
func (p Page) open(what string, filter any, q Query) (limit int, after []any, err error) {
	switch {
	case p.Limit == 0:
		p.Limit = DefaultPage
	case p.Limit < 0 || p.Limit > MaxPage:
		return 0, nil, &Refusal{Kind: Invalid, Detail: fmt.Sprintf("a page of %d is not between 1 and %d", p.Limit, MaxPage)}
	}
	if p.Token == "" {
		return p.Limit, nil, nil
	}
	t, err := parseToken(p.Token)
	if err != nil {
		return 0, nil, &Refusal{Kind: Invalid, Detail: "the page token is damaged: " + err.Error(), Hint: "begin with the first page"}
	}
	after, ok := t.position().startAfter(q)
	if !ok || t.List != listHash(what, filter) {
		return 0, nil, &Refusal{
			Kind: Invalid, Detail: "the page token is of another list, or of another filter",
			Hint: "keep the filter while turning pages, all but from and to, or begin with the first page",
		}
	}
	return p.Limit, after, nil
}

// maxTokenBytes is more than any token has: its ID has 1,500 bytes, and base64
// makes four of three, twice. The admin API takes no longer one.
const maxTokenBytes = 4 << 10

func parseToken(s string) (pageToken, error) {
	if len(s) > maxTokenBytes {
		return pageToken{}, errors.New("it is too long")
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return pageToken{}, errors.New("it is not base64")
	}
	var t pageToken
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if dec.Decode(&t) != nil {
		return pageToken{}, errors.New("it holds something else than a position")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return pageToken{}, errors.New("something follows its position")
	}
	if !contracts.IsDocumentID(string(t.ID)) {
		return pageToken{}, errors.New("its position is no document")
	}
	if !t.At.IsZero() && (t.At.Year() < 1 || t.At.Year() > 9999) {
		return pageToken{}, errors.New("its position is out of time")
	}
	return t, nil
}
