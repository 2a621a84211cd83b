package main

import (
	"context"
	"fmt"

	"outboxrelay/cmd/outbox-relay/program"
	"outboxrelay/cmd/outbox-relay/shell"
)

// What the builder of the image links in; see deploy/cloudrun/image. Any other
// build leaves both empty.
var (
	linkedVersion string // git describe's
	linkedCommit  string
)

func thisBuild() program.Build { return program.ThisBuild(linkedVersion, linkedCommit) }

// version is the build in one line.
func version() string { return thisBuild().Of("outbox-relay") }

// versionCmd prints the version.
type versionCmd struct{}

// Run prints.
func (versionCmd) Run(_ context.Context, p shell.Process) error {
	_, err := fmt.Fprintln(p.Stdout, version())
	return err
}
