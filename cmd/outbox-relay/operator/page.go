package operator

import (
	"fmt"
	"net/url"
	"strconv"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
	"outboxrelay/dlq"
)

// pageFlags ask for one page of a list.
type pageFlags struct {
	Limit     limit  `placeholder:"N" help:"At most so many, 1 to 200; the service's default is 50."`
	PageToken string `default:"" placeholder:"TOKEN" help:"Where the page before ended; empty: the first page."`
}

func (f pageFlags) add(query url.Values) {
	if f.Limit != 0 {
		query.Set("limit", strconv.Itoa(int(f.Limit)))
	}
	if f.PageToken != "" {
		query.Set("pageToken", f.PageToken)
	}
}

// limit is how many a page has at most.
type limit int

// UnmarshalText reads it.
func (l *limit) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > dlq.MaxPage {
		return fmt.Errorf("%q is not 1 to %d", text, dlq.MaxPage)
	}
	*l = limit(n)
	return nil
}

// endPage prints a table, or that it is empty, and how to go on. A page may be
// empty though later ones are not.
func (d *desk) endPage(t *shell.Table, n int, what, next string) error {
	if n == 0 && next == "" {
		_, err := fmt.Fprintln(d.Stdout, "no "+what)
		return err
	}
	if n == 0 {
		fmt.Fprintf(d.Stdout, "no %s on this page\n", what)
	} else if err := t.Flush(); err != nil {
		return err
	}
	if next != "" {
		fmt.Fprintf(d.Stderr, "there are more: the same with --page-token %s\n", shell.Quote(terminal.Line(next)))
	}
	return nil
}
