package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"outboxrelay/cmd/outbox-relay/shell"
)

// What the builder of the image links in; see deploy/cloudrun/image. Any other
// build leaves both empty.
var (
	linkedVersion string // git describe's
	linkedCommit  string
)

// build says what the binary was made of.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go,omitempty"`
}

// thisBuild is what was linked in, or else what the go command recorded.
func thisBuild() build {
	b := build{Version: linkedVersion, Commit: linkedCommit}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b.bounded()
	}
	b.Go = info.GoVersion
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && b.Commit == "" {
			b.Commit = s.Value
		}
	}
	return b.bounded()
}

// maxVersion bounds what becomes a metric's label and a part of /readyz.
const maxVersion = 64

func (b build) bounded() build {
	clip := func(s string) string { return s[:min(len(s), maxVersion)] }
	b.Version, b.Commit = clip(b.Version), clip(b.Commit)
	if b.Version == "" {
		b.Version = "unknown"
	}
	return b
}

func (b build) String() string {
	return strings.TrimSpace(strings.Join(strings.Fields("outbox-relay "+b.Version+" "+b.Commit+" "+b.Go), " "))
}

// metric is 1, with the build as labels: a roll-out can be seen on a dashboard.
func (b build) metric() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "relay_build_info",
		Help:        "Always 1; the labels tell what this instance was built from.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "goversion": b.Go},
	}, func() float64 { return 1 })
}

// version is the build in one line.
func version() string { return thisBuild().String() }

// versionCmd prints the version.
type versionCmd struct{}

// Run prints.
func (versionCmd) Run(_ context.Context, p shell.Process) error {
	_, err := fmt.Fprintln(p.Stdout, version())
	return err
}
