package contracts

import (
	"os/exec"
	"strings"
	"testing"
)

// TestImportsNoCloudSDK keeps the vocabulary free for producers, consumers and
// tests that want nothing of a cloud.
func TestImportsNoCloudSDK(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("list imports: %v\n%s", err, out)
	}
	for name := range strings.FieldsSeq(string(out)) {
		for _, banned := range []string{"cloud.google.com/", "google.golang.org/", "firebase.google.com/", "go.opentelemetry.io/", "net/http"} {
			if strings.HasPrefix(name, banned) {
				t.Errorf("imports %s", name)
			}
		}
		if strings.HasPrefix(name, "outboxrelay/") && name != "outboxrelay/contracts" {
			t.Errorf("imports %s of ours", name)
		}
	}
}
