package jobs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/wneessen/go-mail"
)

// The end of a context ends a conversation with a server that hangs, wherever it does. What
// is known of the message then depends on the place, as where a connection breaks.
func TestAServerThatHangsDoesNotOutliveTheContext(t *testing.T) {
	for _, test := range []struct {
		verb  string // where it hangs
		maybe bool   // the message may have been sent
		sent  bool   // it was
	}{
		{verb: "EHLO"},
		{verb: "MAIL"},
		{verb: "RCPT"},
		{verb: "DATA"},
		{verb: ".", maybe: true},
		{verb: "RSET", sent: true},
		{verb: "QUIT", sent: true},
	} {
		t.Run(test.verb, func(t *testing.T) {
			post := newPostOffice(t)
			hanging := post.hang(test.verb)
			email, err := NewEmail("127.0.0.1", "post@example.com", func(context.Context, Message) (string, error) { return "ann@example.com", nil },
				mail.WithPort(post.port), mail.WithTLSPolicy(mail.NoTLS), mail.WithTimeout(2*patience))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := email.Send(ctx, Message{Key: "k", Title: "Hello", Body: "Hello"})
				ended <- err
			}()
			<-hanging
			cancel()
			select {
			case err = <-ended:
			case <-time.After(patience):
				t.Fatal("the conversation goes on")
			}
			_, maybe := errors.AsType[*maybeSentError](err)
			if maybe != test.maybe || (err == nil) != test.sent {
				t.Errorf("Send = %v; maybe sent: %v, want %v; sent: %v, want %v", err, maybe, test.maybe, err == nil, test.sent)
			}
		})
	}
}
