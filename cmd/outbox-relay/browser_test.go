package main

import (
	"github.com/chromedp/chromedp"

	"outboxrelay/dlq/console/consoletest"
)

// browser starts a Chromium and returns what opens a page of it as somebody. A
// test is skipped where none is installed.
func (c *clinic) browser() func(who, path string) *consoletest.Page {
	c.t.Helper()
	b := &consoletest.Browser{}
	c.t.Cleanup(b.Close)
	b.Need(c.t)
	return func(who, path string) *consoletest.Page {
		c.t.Helper()
		p := b.Page(c.t)
		p.As("dev-"+who, c.url)
		p.Run(chromedp.Navigate(c.url + path))
		return p
	}
}
