package admin

import "outboxrelay/dlq"

// PageQuery asks for one page of a list.
type PageQuery struct {
	Limit     int    `query:"limit" minimum:"1" maximum:"200" default:"50" example:"50" doc:"How many at most."`
	PageToken string `query:"pageToken" maxLength:"4096" doc:"The nextPageToken of the page before, with the same filter; from and to may have moved on since."`
}

func (q PageQuery) page() dlq.Page { return dlq.Page{Limit: q.Limit, Token: q.PageToken} }

// Output of the lists. huma names a schema by its type, which a generic one has
// no good name for, so each list has a type.
type output[B any] struct{ Body B }

// convert renders each item of a page. A list is never null.
func convert[T, J any](items []T, render func(T) J) []J {
	out := make([]J, len(items))
	for n, i := range items {
		out[n] = render(i)
	}
	return out
}
