package main

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/firestore"
	"outboxrelay/dlq/dlqtest"
)

// answer is what a request came to.
type answer struct {
	status int
	body   string
	err    error
}

// asked sends a decision in the background.
func asked(addr, path string) <-chan answer {
	answered := make(chan answer, 1)
	go func() {
		req, err := http.NewRequest(http.MethodPost, "http://"+addr+path, strings.NewReader(`{"reason":"not needed any more"}`))
		if err != nil {
			answered <- answer{err: err}
			return
		}
		req.Header.Set("Authorization", "Bearer dev-operator")
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			answered <- answer{err: err}
			return
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		answered <- answer{resp.StatusCode, string(body), err}
	}()
	return answered
}

// A decision that is being written when the service is told to stop is written
// and answered.
func TestServeAnswersADecisionUnderWayAsItStops(t *testing.T) {
	cloud := startCloud(t)
	cloud.env["AUTH_MODE"] = "dev"
	letter := dlqtest.Letter(testCatalog(t), "accOutbox", "WalletDeducted", "wallet-1", 1, time.Now())
	doc := mustDialFirestore(t, cloud.at).Collection(contracts.CollectionDeadLetters).Doc(letter.ID)
	if _, err := doc.Set(t.Context(), letter.Fields()); err != nil {
		t.Fatal(err)
	}
	service := startProgram(t, cloud.env, serveArgs...)
	addr := service.stderr.find(t, servingAddr)

	write := cloud.Firestore.Faults().Add(firestore.Fault{Method: "Commit", Collection: contracts.CollectionAudit, Stall: true})
	answered := asked(addr, "/admin/v1/dlq/"+url.PathEscape(letter.ID)+"/discard")
	eventually(t, "the decision is being written", func() bool { return cloud.Firestore.Faults().List()[0].Hit > 0 })
	service.cancel()
	eventually(t, "the service takes no further request", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	write()
	if a := <-answered; a.status != http.StatusOK || a.err != nil {
		t.Errorf("the decision was answered with %d %s %v", a.status, a.body, a.err)
	}
	if code := service.stop(t); code != shell.ExitOK {
		t.Errorf("exit code %d, stderr:\n%s", code, service.stderr)
	}
	if snap, err := doc.Get(t.Context()); err != nil || snap.Data()[contracts.DeadFieldState] != string(contracts.DeadDiscarded) {
		t.Errorf("the dead letter is %v, %v", snap.Data()[contracts.DeadFieldState], err)
	}
}
