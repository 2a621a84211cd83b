package program

import (
	"runtime/debug"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Build says what a binary was made of.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go,omitempty"`
}

// ThisBuild is what was linked in, or else what the go command recorded.
func ThisBuild(linkedVersion, linkedCommit string) Build {
	b := Build{Version: linkedVersion, Commit: linkedCommit}
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

func (b Build) bounded() Build {
	clip := func(s string) string { return s[:min(len(s), maxVersion)] }
	b.Version, b.Commit = clip(b.Version), clip(b.Commit)
	if b.Version == "" {
		b.Version = "unknown"
	}
	return b
}

// Of is the build of a program in one line.
func (b Build) Of(program string) string {
	return strings.Join(strings.Fields(program+" "+b.Version+" "+b.Commit+" "+b.Go), " ")
}

// Metric is 1, with the build as labels: a roll-out can be seen on a dashboard.
func (b Build) Metric() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "relay_build_info",
		Help:        "Always 1; the labels tell what this instance was built from.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "goversion": b.Go},
	}, func() float64 { return 1 })
}
