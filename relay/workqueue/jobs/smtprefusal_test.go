package jobs

import (
	"strings"
	"testing"

	"github.com/wneessen/go-mail"
)

// What the server says of us is an outage, and no job's end.
func TestRefusalIsOfTheMessageAlone(t *testing.T) {
	for name, c := range map[string]struct{ at, answer, code, says string }{
		"sender: no authentication":     {"MAIL", "530 5.7.0 Authentication required", codeFailed, "530 5.7.0"},
		"sender: a day's limit":         {"MAIL", "550 5.4.5 Daily sending limit exceeded for ann@example.com", codeFailed, "550 5.4.5"},
		"sender: unknown":               {"MAIL", "550 post@example.com is unknown", codeFailed, "550"},
		"sign in: too weak":             {"AUTH", "534 5.7.9 ann@example.com wants another mechanism", codeFailed, "534 5.7.9"},
		"sign in: bad credentials":      {"AUTH", "535 5.7.8 ann@example.com not accepted", codeFailed, "535 5.7.8"},
		"sign in: not encrypted":        {"AUTH", "538 encryption required of ann@example.com", codeFailed, "538"},
		"recipient: unknown":            {"RCPT", "550 5.1.1 no ann@example.com here", codeRefused, "550 5.1.1"},
		"recipient: policy":             {"RCPT", "550 5.7.1 relay denied to ann@example.com", codeRefused, "550 5.7.1"},
		"recipient: no authentication":  {"RCPT", "530 authentication required", codeFailed, "530"},
		"recipient: full":               {"RCPT", "452 4.2.2 ann@example.com is full", codeFailed, "452 4.2.2"},
		"data: a day's limit":           {"DATA", "550 5.4.5 Daily sending limit exceeded", codeFailed, "550 5.4.5"},
		"data: no":                      {"DATA", "554 no", codeFailed, "554"},
		"end: spam":                     {"end", "554 5.7.1 spam for ann@example.com", codeRefused, "554 5.7.1"},
		"end: may not send as":          {"end", "554 5.2.252 SendAsDenied; post@example.com", codeFailed, "554 5.2.252"},
		"end: too large, without codes": {"end", "552 too large for ann@example.com", codeRefused, "552"},
	} {
		t.Run(name, func(t *testing.T) {
			r := onEmbedded(t)
			switch c.at {
			case "RCPT":
				r.post.behave(c.answer, "")
			case "end":
				r.post.behave("", c.answer)
			default:
				r.post.answer(c.at, c.answer)
			}
			options := []mail.Option{mail.WithPort(r.post.port), mail.WithTLSPolicy(mail.NoTLS)}
			if c.at == "AUTH" {
				options = append(options, mail.WithSMTPAuth(mail.SMTPAuthPlainNoEnc), mail.WithUsername("post"), mail.WithPassword("x"))
			}
			email, err := NewEmail("127.0.0.1", "post@example.com", UserAddress(r.client), options...)
			if err != nil {
				t.Fatal(err)
			}
			r.more = map[string]Channel{"email": email}
			job := r.emit("m-1", "email", "ann@example.com", "matter-created")
			stop := r.run()
			got := r.until(job, "tried", func(d map[string]any) bool { return d["lastErrorCode"] != nil })
			stop()
			want := "pending"
			if c.code == codeRefused {
				want = "dead"
			}
			if got["status"] != want || got["lastErrorCode"] != c.code {
				t.Errorf("it is %v, code %v, want %s, %s", got["status"], got["lastErrorCode"], want, c.code)
			}
			if text, _ := got["lastError"].(string); !strings.Contains(text, c.says) || strings.Contains(text, "@") {
				t.Errorf("it says %q, want %q and no address", text, c.says)
			}
		})
	}
}
