package main

import (
	"encoding/json"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersionIsWhatWasLinkedIn(t *testing.T) {
	linkedVersion, linkedCommit = "v1.2.3", "abcdef"
	defer func() { linkedVersion, linkedCommit = "", "" }()
	want := "outbox-relay v1.2.3 abcdef " + runtime.Version() + "\n"
	for _, args := range []string{"version", "--version"} {
		if diff := cmp.Diff(result{stdout: want}, runProgram(t, nil, "", args), cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", args, diff)
		}
	}
}

// Which build an instance is stands where operators look.
func TestServeTellsItsBuild(t *testing.T) {
	cloud := startCloud(t)
	service := startProgram(t, cloud.env, serveArgs...)
	addr := service.stderr.find(t, servingAddr)
	if told := service.stderr.find(t, `"message":"serving".*"build":"([^"]+)"`); told != version() {
		t.Errorf("the log tells %q, want %q", told, version())
	}
	var told state
	eventually(t, "/readyz answers", func() bool {
		_, body := fetch(t, addr, "/readyz")
		return json.Unmarshal([]byte(body), &told) == nil
	})
	if diff := cmp.Diff(thisBuild(), told.Build); diff != "" {
		t.Errorf("/readyz (-want +got):\n%s", diff)
	}
	if status, body := fetch(t, addr, "/metrics"); status != http.StatusOK || !strings.Contains(body, `relay_build_info{commit="`) {
		t.Errorf("/metrics = %d, without relay_build_info", status)
	}
}
