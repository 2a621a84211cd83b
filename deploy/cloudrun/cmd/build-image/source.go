package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"outboxrelay/deploy/cloudrun/image"
)

// spec is what to build, with what git knows where the flags are silent. Outside
// of a git repository the version is unknown and the time that of 1970.
func (f *flags) spec(ctx context.Context) (image.Spec, error) {
	dir, err := filepath.Abs(f.Dir)
	if err != nil {
		return image.Spec{}, err
	}
	platforms, err := image.ParsePlatforms(f.Platform)
	if err != nil {
		return image.Spec{}, err
	}
	git := func(args ...string) string {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "safe.directory=" + dir}, args...)...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	orElse := func(given string, args ...string) string {
		if given != "" {
			return given
		}
		return git(args...)
	}
	created, err := readEpoch(orElse(f.Epoch, "log", "-1", "--format=%ct"))
	if err != nil {
		return image.Spec{}, err
	}
	return image.Spec{
		Dir: dir, Package: "./cmd/" + f.Program, Created: created, Platforms: platforms,
		Version: orElse(f.Release, "describe", "--tags", "--always", "--dirty"), Commit: orElse(f.Commit, "rev-parse", "HEAD"),
	}, nil
}

func readEpoch(text string) (time.Time, error) {
	if text == "" {
		return time.Unix(0, 0), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q, want seconds since 1970", text)
	}
	return time.Unix(seconds, 0), nil
}

// writeArchive returns the file's checksum: two builds have the same.
func writeArchive(name string, built *image.Built) (sum string, err error) {
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	hash := sha256.New()
	if err := built.WriteArchive(io.MultiWriter(f, hash)); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
