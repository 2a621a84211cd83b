package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"go.uber.org/zap"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/logging"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/deploy/local/thorough"
)

// hostile draws, types and turns text around on a terminal that it reaches.
const hostile = "\x1b]0;title\x07\u009b31mred\u009b8m \u202egnp.exe \x7f\r\nnew line\t\u2028"

// fillTexts puts text into every text of a value, one element into every list, and
// true into every flag but those that allow something.
func fillTexts(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillTexts(v.Elem(), text)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			record, _ := json.Marshal(map[string]string{text: text}) // texts do not fail
			v.SetBytes(record)
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillTexts(v.Index(0), text)
	case reflect.Map:
		key := reflect.New(v.Type().Key()).Elem()
		fillTexts(key, text)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, reflect.Zero(v.Type().Elem()))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for _, f := range reflect.VisibleFields(v.Type()) {
			if f.IsExported() && f.Name != "Allowed" && f.Name != "Replaying" {
				fillTexts(v.FieldByIndex(f.Index), text)
			}
		}
	}
}

func filled[T any]() any {
	var v T
	fillTexts(reflect.ValueOf(&v).Elem(), hostile)
	return v
}

// drawing lists the characters of an output that are more than text, line breaks
// and tabs.
func drawing(output string) (found []rune) {
	for _, r := range output {
		if r != '\n' && r != '\t' && (!unicode.IsPrint(r) || r == unicode.ReplacementChar) {
			found = append(found, r)
		}
	}
	return found
}

func TestForeignTextIsOnlyText(t *testing.T) {
	thorough.Long(t)
	why := []string{"--reason", "x"}
	commands := []struct {
		path   string // below the API's root
		answer any
		args   []string
	}{
		{"/dlq", filled[adminapi.List[adminapi.Item]](), []string{"dlq", "list"}},
		{"/dlq/x", filled[adminapi.Item](), []string{"dlq", "show", "x"}},
		{"/dlq/x/uncover", filled[adminapi.Uncovered](), []string{"dlq", "show", "x", "--uncover", "--reason", "x"}},
		{"/dlq/groups", filled[adminapi.List[adminapi.Group]](), []string{"dlq", "groups"}},
		{"/dlq/x/replay", filled[adminapi.Decided](), append([]string{"dlq", "replay", "x"}, why...)},
		{"/dlq/x/replay", filled[adminapi.Decided](), append([]string{"dlq", "replay", "x", "--wait"}, why...)},
		{"/dlq/x/discard", filled[adminapi.Decided](), append([]string{"dlq", "discard", "x"}, why...)},
		{"/freezes", filled[adminapi.List[adminapi.Freeze]](), []string{"dlq", "freezes"}},
		{"/freezes/x/release", filled[adminapi.Released](), append([]string{"dlq", "release", "x"}, why...)},
		{"/replays", filled[adminapi.List[adminapi.Bulk]](), []string{"dlq", "bulks"}},
		{"/replays", filled[adminapi.Selection](), []string{"dlq", "bulk", "--all", "--dry-run"}},
		{"/replays/x", filled[adminapi.Bulk](), []string{"dlq", "follow", "x"}},
		{"/replays/x/cancel", filled[adminapi.Bulk](), append([]string{"dlq", "cancel", "x"}, why...)},
		{"/trace/x", filled[adminapi.Timeline](), []string{"dlq", "trace", "x"}},
		{"/audit", filled[adminapi.List[adminapi.Entry]](), []string{"dlq", "audit"}},
		{"/lanes", filled[adminapi.Lanes](), []string{"lanes", "list"}},
		{"/lanes/CRITICAL_LANE/pause", filled[adminapi.LaneControl](), append([]string{"lanes", "pause", "CRITICAL_LANE"}, why...)},
	}
	for _, tc := range commands {
		var refuse bool
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := tc.answer
			w.Header().Set("Content-Type", "application/json")
			switch path := strings.TrimPrefix(r.URL.Path, "/admin/v1"); {
			case refuse:
				answer = filled[adminapi.Problem]()
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusConflict)
			case path != tc.path:
				answer = filled[adminapi.Item]()
			}
			_ = json.NewEncoder(w).Encode(answer)
		}))
		for _, more := range [][]string{nil, {"--json"}} {
			for _, refuse = range []bool{false, true} {
				args := slices.Concat(tc.args, []string{"--url", server.URL}, more)
				got := runProgram(t, nil, "", args...)
				if found := drawing(strings.ReplaceAll(got.stdout+got.stderr, "\uFFFD", "")); found != nil || got.stdout+got.stderr == "" {
					t.Errorf("%v, refused %t: exit code %d, prints %q", args, refuse, got.code, found)
				}
				if more != nil && !refuse && !json.Valid([]byte(got.stdout)) {
					t.Errorf("%v: no JSON: %s", args, got.stdout)
				}
			}
		}
		server.Close()
	}
}

func TestJSONOfForeignTextMeansTheSame(t *testing.T) {
	answer, err := json.Marshal(map[string]string{"a": hostile, "b": "\U000E0041 plain é 漢 \"quoted\" \\"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := shell.PrintJSON(&out, append(answer[:1:1], append([]byte(`"broken":"`+"\x9b"+`",`), answer[1:]...)...)); err != nil {
		t.Fatal(err)
	}
	if found := drawing(out.String()); found != nil {
		t.Errorf("prints %q", found)
	}
	var got, want map[string]string
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal(answer, &want)
	want["broken"] = "\uFFFD"
	if !reflect.DeepEqual(got, want) || !strings.Contains(out.String(), `plain é 漢 \"quoted\" \\`) {
		t.Errorf("got %q, want %q: %s", got, want, out.String())
	}
}

// An error may repeat what a stranger sent: who answers in the service's place
// chooses its certificate.
func TestCertificateInAnErrorIsOnlyText(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	stranger := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"evil\x1b]0;title\x07\x1b[2J\noutbox-relay: done.example"},
	}
	der, err := x509.CreateCertificate(rand.Reader, stranger, stranger, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	defer server.Close()
	got := runProgram(t, nil, "", "dlq", "list", "--url", strings.Replace(server.URL, "127.0.0.1", "localhost", 1))
	if !strings.Contains(got.stderr, "evil") || drawing(strings.ReplaceAll(got.stderr, "\uFFFD", "")) != nil || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("prints %q", got.stderr)
	}
}

func TestLogLinesDrawNothing(t *testing.T) {
	for _, format := range []string{"json", "console"} {
		var out bytes.Buffer
		log, err := logging.New(&out, "info", format, "p")
		if err != nil {
			t.Fatal(err)
		}
		log.Info(hostile, zap.String("aggregateId", hostile))
		if found := drawing(out.String()); found != nil {
			t.Errorf("%s: prints %q", format, found)
		}
		if line := map[string]any{}; format == "json" && (json.Unmarshal(out.Bytes(), &line) != nil || line["aggregateId"] != hostile) {
			t.Errorf("%s: the line says %q", format, line["aggregateId"])
		}
	}
}
