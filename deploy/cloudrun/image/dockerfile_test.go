package image

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// instruction is one of a Dockerfile's, such as USER and what follows it.
type instruction struct{ name, args string }

// stages reads a Dockerfile: the instructions of each stage, FROM first.
func stages(t *testing.T, name string) [][]instruction {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	joined := strings.ReplaceAll(string(text), "\\\n", " ")
	var all [][]instruction
	for line := range strings.Lines(joined) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, args, _ := strings.Cut(line, " ")
		if word == "FROM" {
			all = append(all, nil)
		}
		last := len(all) - 1
		if last < 0 {
			t.Fatalf("%s before the first FROM", word)
		}
		all[last] = append(all[last], instruction{word, strings.Join(strings.Fields(args), " ")})
	}
	return all
}

var pair = regexp.MustCompile(`([\w.]+)="([^"]*)"`)

// configOf is what a stage makes of the image that it begins with.
func configOf(t *testing.T, stage []instruction) v1.Config {
	t.Helper()
	config := v1.Config{Labels: map[string]string{}, ExposedPorts: map[string]struct{}{}}
	list := func(args string) (words []string) {
		if err := json.Unmarshal([]byte(args), &words); err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		return words
	}
	for _, i := range stage {
		switch i.name {
		case "USER":
			config.User = i.args
		case "WORKDIR":
			config.WorkingDir = i.args
		case "STOPSIGNAL":
			config.StopSignal = i.args
		case "EXPOSE":
			config.ExposedPorts[i.args] = struct{}{}
		case "ENTRYPOINT":
			config.Entrypoint = list(i.args)
		case "CMD":
			config.Cmd = list(i.args)
		case "ENV":
			for _, p := range pair.FindAllStringSubmatch(i.args, -1) {
				config.Env = append(config.Env, p[1]+"="+p[2])
			}
		case "LABEL":
			for _, p := range pair.FindAllStringSubmatch(i.args, -1) {
				config.Labels[p[1]] = p[2]
			}
		}
	}
	return config
}

// The Dockerfile is another way to the same image.
func TestDockerfileAgrees(t *testing.T) {
	all := stages(t, "../Dockerfile")
	if len(all) != 2 {
		t.Fatalf("%d stages, want 2", len(all))
	}
	spec := Spec{Version: "$VERSION", Commit: "$COMMIT"}
	final := all[1]
	if diff := cmp.Diff(spec.config(), configOf(t, final)); diff != "" {
		t.Errorf("config (-make image +Dockerfile):\n%s", diff)
	}
	if base := final[0].args; !strings.HasPrefix(base, "gcr.io/distroless/static-") || !strings.Contains(base, ":nonroot") {
		t.Errorf("it is made from %s", base)
	}
	if copied := (instruction{"COPY", "--from=build /out/outbox-relay /" + BinaryPath}); !slices.Contains(final, copied) {
		t.Errorf("the last stage lacks %v", copied)
	}
	at := slices.IndexFunc(all[0], func(i instruction) bool { return i.name == "RUN" && strings.Contains(i.args, "go build") })
	if at < 0 {
		t.Fatal("nothing is built")
	}
	wanted := slices.Concat(buildFlags, settings(v1.Platform{OS: "$TARGETOS", Architecture: "$TARGETARCH"}),
		[]string{`-ldflags="` + spec.linkFlags() + `"`, Program})
	for _, want := range wanted {
		if !strings.Contains(all[0][at].args+" ", want+" ") {
			t.Errorf("the build lacks %s: %s", want, all[0][at].args)
		}
	}
}
