package operator

import (
	"fmt"
	"net/url"
	"strconv"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
)

// pageFlags ask for one page of a list.
type pageFlags struct {
	Limit     int    `placeholder:"N" help:"At most so many; the service's default is 50."`
	PageToken string `placeholder:"TOKEN" help:"Where the page before ended."`
}

func (f pageFlags) add(query url.Values) {
	if f.Limit != 0 {
		query.Set("limit", strconv.Itoa(f.Limit))
	}
	if f.PageToken != "" {
		query.Set("pageToken", f.PageToken)
	}
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
