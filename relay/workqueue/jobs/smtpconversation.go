package jobs

import (
	"context"

	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// dial opens a conversation. A server that hangs may keep go-mail from heeding ctx until its own
// timeout; nothing is sent yet, so that nobody waits for that: it is left to end by itself.
func dial(ctx context.Context, client *mail.Client) (*smtp.Client, error) {
	type opened struct {
		conversation *smtp.Client
		err          error
	}
	done := make(chan opened)
	go func() {
		conversation, err := client.DialToSMTPClientWithContext(ctx)
		select {
		case done <- opened{conversation, err}:
		case <-ctx.Done():
			if err == nil {
				_ = conversation.Text.Close() // nobody has it
			}
		}
	}()
	select {
	case o := <-done:
		return o.conversation, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// converse sends msg, and ends with ctx: then the connection is closed, so that what is known of
// the message is what is known where a connection breaks at that place.
func converse(ctx context.Context, client *mail.Client, conversation *smtp.Client, msg *mail.Msg) error {
	// The connection itself: the end of a conversation in good manners waits for its answers.
	connection := conversation.Text
	defer connection.Close() //nolint:errcheck // what was accepted is sent, however the conversation ends
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	err := client.SendWithSMTPClient(conversation, msg)
	_ = client.CloseWithSMTPClient(conversation) // likewise
	return err
}
