package cost_test

import (
	"math"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/cmd/outbox-relay/cost"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/deploy/requirements"
)

// carried is how many bytes connections carried.
type carried struct{ read, written atomic.Int64 }

// meteredConn counts them.
type meteredConn struct {
	net.Conn
	carried *carried
}

// Read implements net.Conn.
func (c meteredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.carried.read.Add(int64(n))
	return n, err
}

// Write implements net.Conn.
func (c meteredConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.carried.written.Add(int64(n))
	return n, err
}

// What protobuf and HTTP/2 add to a record in full pages and commits, in bytes.
const (
	addedToRead = 180
	addedToMark = 140
)

// TestTrafficIsWhatConnectionsCarry: what a backlog takes between the relay and the
// embedded Firestore, against what Firestore counts for documents and fields.
func TestTrafficIsWhatConnectionsCarry(t *testing.T) {
	thorough.Long(t)
	catalog := oneOutbox(t, 1)
	o := catalog.Outboxes[0]
	sizes, err := cost.SizesOf(catalog, o, requirements.IndexesOf(catalog), 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, catalog)
		defer w.close()
		const commits, inCommit, d = 100, 50, time.Minute
		for range commits {
			var records []*contracts.Record
			for range inCommit {
				rec := w.record(o, nil)
				rec.Payload = map[string]any{"text": strings.Repeat("x", 1<<10-len(`{"text":""}`))}
				records = append(records, rec)
			}
			w.append(records...)
		}
		time.Sleep(time.Minute)
		read, written := w.carried.read.Load(), w.carried.written.Load()
		w.start("instance-0")
		time.Sleep(d)
		read, written = w.carried.read.Load()-read, w.carried.written.Load()-written
		restRead, restWritten := w.carried.read.Load(), w.carried.written.Load()
		time.Sleep(d)
		read -= w.carried.read.Load() - restRead
		written -= w.carried.written.Load() - restWritten
		for _, c := range []struct {
			what           string
			carried        int64
			counted, added float64
		}{
			{"read", read, sizes.Pending, addedToRead},
			{"written", written, sizes.Mark, addedToMark},
		} {
			got := float64(c.carried)/commits/inCommit - c.counted
			t.Logf("%s: Firestore counts %.0f bytes, connections carry %.0f more", c.what, c.counted, got)
			if math.Abs(got-c.added) > 0.2*c.added {
				t.Errorf("%s: connections carry %.0f bytes more than the %.0f that Firestore counts, want %d", c.what, got, c.counted, int(c.added))
			}
		}
	})
}
