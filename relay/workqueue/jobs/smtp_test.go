package jobs

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
)

// postOffice is an SMTP server on loopback.
type postOffice struct {
	port int

	mu       sync.Mutex
	accepted []string // messages that it has taken
	// What it does to messages: answers to RCPT and to a message's end, "" for OK. "drop" ends
	// the connection; "take and drop" after it has taken the message.
	rcpt, end string
	others    map[string]string // answers to other commands, by their verbs
	hangs     string            // the verb that it never answers; ".": the end of a message
	hanging   chan struct{}     // closed when it hangs
	open      []net.Conn        // all that it ever had
}

func newPostOffice(t *testing.T) *postOffice {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &postOffice{port: l.Addr().(*net.TCPAddr).Port}
	var conversations sync.WaitGroup
	conversations.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.open = append(p.open, conn)
			p.mu.Unlock()
			conversations.Go(func() { defer conn.Close(); p.converse(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); p.hangUp(); conversations.Wait() })
	return p
}

// hang has it never answer one command, and returns what is closed when it does not.
func (p *postOffice) hang(verb string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hangs, p.hanging = verb, make(chan struct{})
	return p.hanging
}

// hangUp ends all conversations: of one that hangs the other end may wait long.
func (p *postOffice) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.open {
		conn.Close()
	}
}

// silent reports whether it is to hang at a command, and says that it does. It reads on, so
// that it notices the end of the connection.
func (p *postOffice) silent(verb string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hangs == "" || p.hangs != verb {
		return false
	}
	close(p.hanging)
	p.hanging = make(chan struct{})
	return true
}

func (p *postOffice) behave(rcpt, end string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rcpt, p.end = rcpt, end
}

// answer has it answer another command so.
func (p *postOffice) answer(verb, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.others = map[string]string{verb: text}
}

func (p *postOffice) messages() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.accepted...)
}

func (p *postOffice) converse(conn net.Conn) {
	in := bufio.NewScanner(conn)
	say := func(text string) { fmt.Fprintf(conn, "%s\r\n", text) }
	say("220 post office")
	for in.Scan() {
		p.mu.Lock()
		rcpt, end, others := p.rcpt, p.end, p.others
		p.mu.Unlock()
		verb, _, _ := strings.Cut(strings.ToUpper(in.Text()), " ")
		if p.silent(verb) {
			continue
		}
		if text := others[verb]; text != "" {
			say(text)
			continue
		}
		switch verb {
		case "EHLO":
			say("250-post office\r\n250-8BITMIME\r\n250-ENHANCEDSTATUSCODES\r\n250 AUTH PLAIN")
		case "RCPT":
			if rcpt == "drop" {
				return
			}
			say(orOK(rcpt))
		case "DATA":
			say("354 go on")
			var lines []string
			for in.Scan() && in.Text() != "." {
				lines = append(lines, in.Text())
			}
			if end == "" || end == "take and drop" {
				p.mu.Lock()
				p.accepted = append(p.accepted, strings.Join(lines, "\n"))
				p.mu.Unlock()
			}
			if p.silent(".") {
				continue
			}
			if strings.HasSuffix(end, "drop") {
				return
			}
			say(orOK(end))
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func orOK(answer string) string {
	if answer == "" {
		return "250 ok"
	}
	return answer
}
