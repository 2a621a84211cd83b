package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	mixed = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestGood"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"    chatter\n"}
{"Action":"pass","Package":"p","Test":"TestGood"}
{"Action":"output","Package":"p","Test":"TestBad","Output":"    reason\n"}
{"Action":"output","Package":"p","Test":"TestBad","Output":"--- FAIL: TestBad\n"}
{"Action":"fail","Package":"p","Test":"TestBad"}
{"Action":"skip","Package":"p","Test":"TestOnGoogle"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`
	google = `{"Action":"pass","Package":"p","Test":"TestOnGoogle"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
`
	unbuilt = `go: warning of the go command
{"ImportPath":"q","Action":"build-output","Output":"q.go:1: no\n"}
{"ImportPath":"q","Action":"build-fail"}
{"Action":"output","Package":"q","Output":"FAIL\tq [build failed]\n"}
{"Action":"fail","Package":"q","FailedBuild":"q"}
`
	died = `{"Action":"run","Package":"p","Test":"TestLast"}
{"Action":"output","Package":"p","Test":"TestLast","Output":"last words\n"}
`
)

func TestShow(t *testing.T) {
	tests := []struct {
		name, in, want string
	}{
		{"a failure whole, a pass not at all", mixed, "    reason\n--- FAIL: TestBad\nFAIL\tp\t0.1s\n"},
		{"a package's last line", google, "ok  \tp\t0.1s\n"},
		{"what does not build", unbuilt, "go: warning of the go command\nq.go:1: no\nFAIL\tq [build failed]\n"},
		{"the last words of a binary that died", died, "last words\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			if err := show(strings.NewReader(tt.in), &out); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

func TestClosingLines(t *testing.T) {
	tests := []struct {
		name string
		runs []string
		also int
		want string
	}{
		{"one run", []string{mixed}, 0, "FAIL\tp\t0.1s\n1 passed, 1 failed, 1 skipped\n"},
		{"skipped first and passed later", []string{mixed, google}, 0, "FAIL\tp\t0.1s\nok  \tp\t0.1s\n2 passed, 1 failed, 0 skipped\n"},
		{"passed first and failed later", []string{google, strings.ReplaceAll(google, "pass", "fail")}, 0, "ok  \tp\t0.1s\nok  \tp\t0.1s\n0 passed, 1 failed, 0 skipped\n"},
		{"what does not build has failed", []string{unbuilt}, 0, "FAIL\tq [build failed]\n0 passed, 1 failed, 0 skipped\n"},
		{"a linter failed too", []string{unbuilt}, 1, "FAIL\tq [build failed]\n0 passed, 2 failed, 0 skipped\n"},
		{"nothing ran", nil, 0, "0 passed, 0 failed, 0 skipped\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := []string{filepath.Join(t.TempDir(), "never-began")}
			for _, text := range tt.runs {
				file := filepath.Join(t.TempDir(), "run.json")
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				files = append(files, file)
			}
			var out strings.Builder
			if err := closeRuns(files, tt.also, &out); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}
