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

const browser = `{"Action":"run","Package":"p","Test":"TestPage"}
{"Action":"attr","Package":"p","Test":"TestPage/narrow","Key":"needs","Value":"browser"}
{"Action":"output","Package":"p","Test":"TestPage/narrow","Output":"    no such button\n"}
{"Action":"fail","Package":"p","Test":"TestPage/narrow"}
{"Action":"fail","Package":"p","Test":"TestPage"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`

const browserAgain = `{"Action":"run","Package":"p","Test":"TestPage"}
{"Action":"pass","Package":"p","Test":"TestPage/narrow"}
{"Action":"pass","Package":"p","Test":"TestPage"}
{"Action":"pass","Package":"p"}
`

func TestWhoMayRunOnceMore(t *testing.T) {
	const race = `{"Action":"output","Package":"p","Test":"TestPage","Output":"WARNING: DATA RACE\n"}` + "\n"
	const panicked = `{"Action":"output","Package":"p","Test":"TestPage","Output":"panic: no\n"}` + "\n"
	tests := []struct {
		name, run, where, want, wantErr string
	}{
		{"in a browser", browser, inBrowser, "p TestPage\n", ""},
		{"on Google's emulators", browser, onGoogle, "p TestPage\n", ""},
		{"any test on Google's emulators", mixed, onGoogle, "p TestBad\n", ""},
		{"what needs no browser", mixed, inBrowser, "", "TestBad of p failed, and needs no browser"},
		{"one of each", browser + mixed, inBrowser, "", "TestBad of p failed, and needs no browser"},
		{"a data race", race + browser, onGoogle, "", "TestPage of p failed with a data race"},
		{"a panic", panicked + browser, onGoogle, "", "the tests of p ended before all had run"},
		{"what never ended", browser + died, onGoogle, "", "the tests of p ended before all had run"},
		{"what does not build", unbuilt, onGoogle, "", "q failed without a test to blame"},
		{"a green run", google, onGoogle, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "run.json")
			if err := os.WriteFile(file, []byte(tt.run), 0o600); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			err := listAgain(file, tt.where, &out)
			if tt.wantErr == "" && err != nil || tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)) {
				t.Errorf("error %v, want %q", err, tt.wantErr)
			}
			if got := out.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLeftOutOfEveryRun(t *testing.T) {
	const long = `{"Action":"attr","Package":"p","Test":"TestLong","Key":"needs","Value":"time"}
{"Action":"skip","Package":"p","Test":"TestLong"}
`
	const ran = `{"Action":"pass","Package":"p","Test":"TestLong"}` + "\n"
	tests := []struct {
		name          string
		first, second string // "": that run is missing
		want          string
		wantErr       bool
	}{
		{"by both", long, long, "left out of every run, as it takes long: TestLong of p\n0 passed, 1 failed, 1 skipped\n", true},
		{"by one", long, ran, "1 passed, 0 failed, 0 skipped\n", false},
		{"a run is missing", long, "", "0 passed, 0 failed, 1 skipped\n", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			files := []string{filepath.Join(dir, "first.json"), filepath.Join(dir, "second.json")}
			for n, text := range []string{tt.first, tt.second} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(files[n], []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out strings.Builder
			if err := closeRuns(files, 0, &out); (err != nil) != tt.wantErr {
				t.Errorf("error %v, want one: %v", err, tt.wantErr)
			}
			if got := out.String(); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

func TestFlakyOnesHavePassed(t *testing.T) {
	tests := []struct {
		name, again, want string
	}{
		{"it passed", browserAgain, "flaky: TestPage of p; it passed alone. Its first failure:\n        no such button\n2 passed, 0 failed, 0 skipped\n"},
		{"it failed again", browser, "FAIL\tp\t0.1s\n0 passed, 2 failed, 0 skipped\n"},
		{"it never ran", "", "FAIL\tp\t0.1s\n0 passed, 2 failed, 0 skipped\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{"run.json": browser, "run.again.json": tt.again} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out strings.Builder
			if err := closeRuns([]string{filepath.Join(dir, "run.json")}, 0, &out); err != nil {
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
