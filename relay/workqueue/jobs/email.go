package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"cloud.google.com/go/firestore"
	"github.com/wneessen/go-mail"

	"outboxrelay/contracts"
	"outboxrelay/relay/firestore/readable"
	"outboxrelay/relay/workqueue"
)

// Email is channel email, over SMTP.
type Email struct {
	from    string
	domain  string
	address func(ctx context.Context, m Message) (string, error)
	options []mail.Option
	host    string
}

// NewEmail returns the channel, which sends by the SMTP server at host, from an address.
// address says where a message's recipient is reached; see UserAddress. options are those of go-mail, for port,
// TLS and who signs in; without any it is port 25, and TLS is mandatory. Its timeout bounds a
// conversation, 15 s without another, and so does the end of Send's context; it stays well below Term.
func NewEmail(host, from string, address func(context.Context, Message) (string, error), options ...mail.Option) (*Email, error) {
	_, domain, ok := strings.Cut(from, "@")
	if !ok {
		return nil, fmt.Errorf("email from %q: it is no address", from)
	}
	if _, err := mail.NewClient(host, options...); err != nil {
		return nil, fmt.Errorf("email by %s: %w", host, err)
	}
	return &Email{from: from, domain: strings.Trim(domain, "> "), address: address, options: options, host: host}, nil
}

// Tells implements Channel: of an email that may have been sent nothing is known.
func (*Email) Tells() bool { return false }

// Send implements Channel.
func (e *Email) Send(ctx context.Context, m Message) ([]workqueue.Create, error) {
	if m.Bare {
		return nil, workqueue.Permanent(codeTemplate, errors.New("a mail needs a text, and the catalog has no templates"))
	}
	to, err := e.address(ctx, m)
	if err != nil {
		return nil, err
	}
	msg := mail.NewMsg()
	if err := errors.Join(msg.From(e.from), msg.To(to)); err != nil {
		return nil, workqueue.Permanent(codeRecipient, errors.New("the recipient has no valid address"))
	}
	msg.Subject(m.Title)
	msg.SetMessageIDWithValue(e.messageID(m.Key))
	msg.SetDate()
	msg.SetBodyString(mail.TypeTextPlain, m.Body)
	// A client has one connection at a time: each message has its own.
	client, err := mail.NewClient(e.host, e.options...)
	if err != nil {
		return nil, workqueue.Coded(codeFailed, err)
	}
	conversation, err := dial(ctx, client)
	if err != nil {
		return nil, workqueue.Coded(codeFailed, fmt.Errorf("connect to the SMTP server: %w", codesOnly(err)))
	}
	return nil, judge(msg, converse(ctx, client, conversation, msg))
}

// messageID follows from the job's key.
func (e *Email) messageID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16]) + "@" + e.domain
}

// judge says what is known of a message after an error of the conversation. Only its
// end matters: once all of it was written, it is sent unless the server has said no.
func judge(msg *mail.Msg, err error) error {
	if err == nil || msg.IsDelivered() {
		return nil
	}
	send, ok := errors.AsType[*mail.SendError](err)
	switch {
	case ok && refused(send):
		return workqueue.Permanent(codeRefused, fmt.Errorf("the SMTP server refuses the message: %s", answerCodes(send.ErrorCode(), send.EnhancedStatusCode())))
	case ok && send.ErrorCode() >= 400:
		return workqueue.Coded(codeFailed, fmt.Errorf("the SMTP server does not take the message now: %s, at %s", answerCodes(send.ErrorCode(), send.EnhancedStatusCode()), send.Reason))
	case ok && (send.Reason == mail.ErrSMTPMailFrom || send.Reason == mail.ErrSMTPRcptTo || send.Reason == mail.ErrSMTPData || send.Reason == mail.ErrConnCheck):
		return workqueue.Coded(codeFailed, fmt.Errorf("the SMTP conversation ended before the message: %s", send.Reason)) // the whole error names the recipient
	}
	return MaybeSent(errors.New("the SMTP conversation ended before the server had answered"))
}

// UserAddress reads the address of a message's recipient from field email of
// users/{recipientId}. A recipient who is an address is one.
func UserAddress(client *firestore.Client) func(context.Context, Message) (string, error) {
	return func(ctx context.Context, m Message) (string, error) {
		if strings.Contains(m.RecipientID, "@") {
			return m.RecipientID, nil
		}
		if !contracts.IsDocumentID(m.RecipientID) {
			return "", workqueue.Permanent(codeRecipient, errors.New("the recipient is no user's ID"))
		}
		ref := client.Collection("users").Doc(m.RecipientID)
		snaps, err := client.GetAll(ctx, []*firestore.DocumentRef{ref})
		if err != nil {
			return "", workqueue.Coded(codeFailed, fmt.Errorf("read the recipient: %w", err))
		}
		fields, _ := readable.Parts(snaps[0], []string{"email"}) // what else a user has is nothing to it
		address, _ := fields["email"].(string)
		if address == "" {
			return "", workqueue.Permanent(codeRecipient, errors.New("the recipient has no address"))
		}
		return address, nil
	}
}
