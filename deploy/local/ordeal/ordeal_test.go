package ordeal

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRunTellsByItsCode(t *testing.T) {
	parse := func(args []string, usage io.Writer) (string, error) {
		flags := flag.NewFlagSet("ordeal", flag.ContinueOnError)
		cloud := flags.String("cloud", "embedded", "")
		if err := Parse(flags, args, usage); err != nil {
			return "", err
		}
		return *cloud, CheckCloud(*cloud)
	}
	for _, test := range []struct {
		name  string
		args  []string
		sound bool
		err   error
		code  int
		says  string
	}{
		{name: "sound", sound: true, code: ExitOK},
		{name: "broken", code: ExitBroken},
		{name: "could not be made", sound: true, err: errors.New("no room"), code: ExitBroken, says: "ordeal: no room"},
		{name: "help", args: []string{"-help"}, code: ExitOK, says: "-cloud"},
		{name: "another cloud", args: []string{"-cloud", "moon"}, code: ExitUsage, says: `-cloud is "moon", want embedded or google (see ordeal -help)`},
		{name: "an argument", args: []string{"now"}, code: ExitUsage, says: `unexpected argument "now"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stderr bytes.Buffer
			code := Run("ordeal", test.args, parse, func(string) (bool, error) { return test.sound, test.err }, &stderr)
			if code != test.code || !strings.Contains(stderr.String(), test.says) {
				t.Errorf("code is %d and %q is said, want %d and %q", code, stderr.String(), test.code, test.says)
			}
		})
	}
}

func TestEndedKeepsWhatExplains(t *testing.T) {
	for _, test := range []struct {
		name        string
		keep, sound bool
		err         error
		kept        bool
	}{
		{name: "sound", sound: true},
		{name: "sound, to be kept", sound: true, keep: true, kept: true},
		{name: "broken", kept: true},
		{name: "failed", sound: true, err: errors.New("gone"), kept: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			var progress bytes.Buffer
			sound, err := Ended(dir, test.keep, test.sound, test.err, &progress)
			if sound != test.sound || !errors.Is(err, test.err) {
				t.Errorf("got %v, %v", sound, err)
			}
			if _, err := os.Stat(dir); (err == nil) != test.kept || strings.Contains(progress.String(), dir) != test.kept {
				t.Errorf("kept is %v and %q is said, want %v", err == nil, progress.String(), test.kept)
			}
		})
	}
}
