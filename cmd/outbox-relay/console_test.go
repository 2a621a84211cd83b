package main

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/dlq/console/consoletest"
)

// port of a service's address.
func port(t *testing.T, address string) string {
	t.Helper()
	_, p, err := net.SplitHostPort(strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// serveOn starts the service as a process on a port that another one had, once
// that is free: any connection of this machine may have it for a moment.
func (c *clinic) serveOn(port string) *child {
	c.t.Helper()
	args := slices.Clone(serveArgs)
	for i, arg := range args {
		if arg == "--port" {
			args[i+1] = port
		}
	}
	var service *child
	eventually(c.t, "the port is free", func() bool {
		service = startChild(c.t, c.env, args...)
		return service.stderr.find(c.t, `("message":"serving"|the port is taken)`) != "the port is taken"
	})
	c.await(service.stderr)
	return service
}

// A record is refused by its topic and dies. An operator finds it in the console,
// replays it and sees it delivered, and so does a second one who looks at it,
// neither of them by loading anything again.
func TestE2EConsoleReplaysADeadRecord(t *testing.T) {
	c := openClinic(t)
	open := c.browser()
	c.serve()
	operator := open("operator", "/console/dlq")
	aggregate := c.aggregate("replayed")
	id := c.dead(contracts.ReviewRequired, aggregate, 1)
	operator.Run(chromedp.Navigate(c.url + "/console/dlq?aggregateId=" + aggregate))
	operator.Click("main tbody a[href*='/console/dlq/']")
	operator.Shows("failed three times at")
	onlooker := open("viewer", "/console/dlq/"+url.PathEscape(id))
	onlooker.Shows("failed three times at")
	c.broker.accept(aggregate)
	operator.Click("#act-replay summary")
	operator.Write("#reason-replay", "the broker takes it")
	operator.Click("#act-replay button[type=submit]")
	for _, page := range []*consoletest.Page{operator, onlooker} {
		page.Shows("a replay delivered it to every target")
	}
	eventually(t, "it has arrived", func() bool { return len(c.of(aggregate)) > 0 })
	if got := c.of(aggregate)[0]; got.Replay != id {
		t.Errorf("arrival %+v, want attribute replay %s", got, id)
	}
	if got := c.audited(id); got["replay"] != 1 {
		t.Errorf("audit %v, want one replay", got)
	}
}

// A record with hostile texts in its fields passes a live relay, dies of them, and
// is shown by the console as the text that it is.
func TestE2EConsoleShowsAHostileRecord(t *testing.T) {
	c := openClinic(t)
	open := c.browser()
	c.serve()
	const text = "<script>document.title='taken'</script><img src=x onerror=document.title='taken'>\u202egnp.exe\x1b[31m{{.}}"
	rec := c.record(contracts.ReviewRequired, c.aggregate("hostile")+text, 1)
	for _, field := range []string{contracts.FieldEventType, contracts.FieldTraceID, contracts.FieldLane} {
		rec.Fields[field] = text
	}
	rec.Fields[contracts.FieldLane] = string(contracts.CriticalLane) // without one nobody reads it soon
	rec.Fields[contracts.FieldPayload] = map[string]any{text: text, "long": strings.Repeat("x", 100_000)}
	c.append(rec)
	page := open("security", "/console/dlq")
	page.Shows("onerror=document.title")
	page.Click("main tbody a[href*='/console/dlq/']")
	page.Shows("What may be done now")
	if !consoletest.Eval[bool](page, "document.title.endsWith('DLQ Manager') && !document.querySelector('main script, main img')") {
		t.Error("the record's markup is markup of the page")
	}
	if consoletest.Eval[bool](page, "/[\\u202e\\x1b]/.test(document.body.innerText)") {
		t.Error("marks that mislead are on the page")
	}
}

// A page that is open while the service is killed says so, and goes on by itself
// when it is back, with what changed meanwhile.
func TestE2EConsoleGoesOnAfterACrash(t *testing.T) {
	c := openClinic(t)
	c.env[envLeaseTerm] = killTerm
	open := c.browser()
	service := c.serve()
	at := port(t, c.url)
	page := open("viewer", "/console/")
	page.Hears()
	service.signal(t, syscall.SIGKILL)
	service.wait(t)
	page.Shows("The service does not answer")
	c.serveOn(at)
	page.Until("the page goes on", "document.getElementById('connection').hidden")
}

// Open pages do not keep a service from stopping: their streams and idle
// connections end with it.
func TestE2EConsoleDelaysNoStop(t *testing.T) {
	c := openClinic(t)
	open := c.browser()
	service := c.serve()
	for _, path := range []string{"/console/", "/console/dlq", "/console/audit"} {
		open("viewer", path)
	}
	open("operator", "/console/").Hears()
	began := time.Now()
	service.signal(t, syscall.SIGTERM)
	if code := service.wait(t); code != shell.ExitOK {
		t.Errorf("exit code %d:\n%s", code, service.stderr)
	}
	t.Logf("stopped within %v with four pages open", time.Since(began))
	if strings.Contains(service.stderr.String(), "shut down http") {
		t.Errorf("the pages were cut off:\n%s", service.stderr)
	}
}

// A browser opens connections ahead of need. A stop does not wait for a request
// on them.
func TestStopWaitsForNoSilentConnection(t *testing.T) {
	cloud := startCloud(t)
	service := startChild(t, cloud.env, append(slices.Clone(serveArgs), "--stop-budget", "4s")...)
	conn, err := net.Dial("tcp", service.stderr.find(t, servingAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	eventually(t, "the service is ready", func() bool {
		status, _ := fetch(t, service.stderr.find(t, servingAddr), "/readyz")
		return status == http.StatusOK
	})
	service.signal(t, syscall.SIGTERM)
	if code := service.wait(t); code != shell.ExitOK {
		t.Errorf("exit code %d:\n%s", code, service.stderr)
	}
}
