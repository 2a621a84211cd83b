package jobs

import (
	"errors"
	"fmt"
	"net/textproto"
	"regexp"

	"github.com/wneessen/go-mail"
)

// Answers about who sends, whatever the message and its recipient: credentials, the
// sender's address, a limit of sending. Somebody mends them, and then the same message is taken.
var (
	// RFC 4954, section 6.
	aboutSender = map[int]bool{
		530: true, // authentication required
		534: true, // mechanism too weak
		535: true, // credentials invalid
		538: true, // encryption required
	}
	// RFC 3463 and its registry, and those that providers have made of it.
	aboutSenderEnhanced = map[string]bool{
		"5.1.7":   true, // sender's address: syntax
		"5.1.8":   true, // sender's domain; Exchange Online: account is blocked from sending
		"5.2.252": true, // Exchange Online: may not send as this address
		"5.4.5":   true, // Gmail: daily limit
		"5.7.0":   true, // authentication required
		"5.7.3":   true, // Exchange: authentication unsuccessful
		"5.7.8":   true, // credentials invalid
		"5.7.9":   true, // mechanism too weak
		"5.7.11":  true, // encryption required
		"5.7.57":  true, // Exchange Online: not authenticated
		"5.7.60":  true, // Exchange Online: may not send as this address
	}
)

// refused reports whether the server will never take the message: it says so of
// the recipient, or once it has read all of the message.
func refused(e *mail.SendError) bool {
	if e.ErrorCode() < 500 || e.Reason != mail.ErrSMTPRcptTo && e.Reason != mail.ErrSMTPDataClose {
		return false
	}
	return !aboutSender[e.ErrorCode()] && !aboutSenderEnhanced[e.EnhancedStatusCode()]
}

// answerCodes are those of an answer: 550 5.7.1.
func answerCodes(code int, enhanced string) string {
	if enhanced == "" {
		return fmt.Sprint(code)
	}
	return fmt.Sprintf("%d %s", code, enhanced)
}

var enhancedAtFirst = regexp.MustCompile(`^[245]\.\d{1,3}\.\d{1,3}\b`)

// codesOnly leaves out the text of a server's answer, which may hold addresses.
func codesOnly(err error) error {
	if answer, ok := errors.AsType[*textproto.Error](err); ok {
		return errors.New("it answers " + answerCodes(answer.Code, enhancedAtFirst.FindString(answer.Msg)))
	}
	return err
}
