// Command build-image makes the service's container image as an OCI archive,
// without a daemon, and pushes it to a registry where that is asked for. Run it
// in the repository's directory.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"outboxrelay/deploy/cloudrun/image"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "build-image:", err)
		os.Exit(1)
	}
}

// flags are the command line.
type flags struct {
	Program  string `enum:"outbox-relay,outbox-publisher" default:"outbox-relay" help:"What the image runs: outbox-relay or outbox-publisher."`
	Out      string `placeholder:"FILE" help:"The archive to write, its SBOM beside it; default: dist/PROGRAM-image.tar."`
	Platform string `default:"linux/amd64" placeholder:"LIST" help:"linux/amd64, linux/arm64, or both with a comma. Cloud Run runs the first."`
	Release  string `name:"version" placeholder:"VERSION" help:"Version to link in; default: what git describe says."`
	Commit   string `placeholder:"HASH" help:"Commit to link in; default: the one that is checked out."`
	Epoch    string `env:"SOURCE_DATE_EPOCH" placeholder:"SECONDS" help:"Time of everything in the image, in seconds since 1970; default: the commit's."`
	Archive  string `placeholder:"FILE" help:"Push this archive as it is, and build nothing."`
	Push     string `placeholder:"REF" help:"Push to a registry, as HOST/REPOSITORY:TAG."`
	Dir      string `default:"." placeholder:"DIR" help:"The repository."`
}

// Validate names flags that do not fit together.
func (f *flags) Validate() error {
	if f.Archive != "" && f.Push == "" {
		return errors.New("--archive says what to push: add --push")
	}
	return nil
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	var f flags
	parser, err := kong.New(&f, kong.Name("build-image"), kong.Writers(stdout, stdout),
		kong.Description("Makes the service's container image as an OCI archive, without a daemon. Two builds of one commit have one digest."))
	if err != nil {
		return err
	}
	if _, err := parser.Parse(args); err != nil {
		return err
	}
	if f.Out == "" {
		f.Out = "dist/" + f.Program + "-image.tar"
	}
	archive := f.Archive
	if archive == "" {
		if err := f.build(ctx, stdout); err != nil {
			return err
		}
		archive = f.Out
	}
	if f.Push == "" {
		return nil
	}
	pushed, err := image.Push(ctx, archive, f.Push)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, "pushed", pushed)
	return nil
}

// build writes the archive and the SBOMs, and tells their digest.
func (f *flags) build(ctx context.Context, stdout io.Writer) error {
	spec, err := f.spec(ctx)
	if err != nil {
		return err
	}
	built, err := image.Build(ctx, spec)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.Out), 0o755); err != nil {
		return err
	}
	sum, err := writeArchive(f.Out, built)
	if err != nil {
		return err
	}
	digest, err := built.Digest()
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "image    %s\narchive  %s sha256:%s\nversion  %s %s\n", digest, f.Out, sum, spec.Version, spec.Commit)
	for _, i := range built.Images {
		name := f.sbomName(i, len(built.Images))
		if err := os.WriteFile(name, i.SBOM, 0o644); err != nil { //nolint:gosec // G306: it is published with the image
			return err
		}
		fmt.Fprintln(stdout, "sbom    ", name)
	}
	return nil
}

// sbomName is the archive's, with the platform where there are several.
func (f *flags) sbomName(i image.Image, of int) string {
	base := strings.TrimSuffix(f.Out, ".tar")
	if of > 1 {
		base += "-" + strings.ReplaceAll(i.Platform.String(), "/", "-")
	}
	return base + ".spdx.json"
}
