package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/pressly/goose/v3"
)

// standing tells how far the database is migrated. newer: further than this version knows, which
// can neither name nor take back what is there beyond.
func standing(ctx context.Context, provider *goose.Provider) (told string, newer bool, err error) {
	at, err := provider.GetDBVersion(ctx)
	if err != nil {
		return "", false, err
	}
	sources := provider.ListSources() // in the order of their numbers
	last := sources[len(sources)-1].Version
	if at <= last {
		return fmt.Sprintf("the database is at %d", at), false, nil
	}
	return fmt.Sprintf("the database is at %d, and this version knows migrations up to %d; what is beyond only a version that knows it takes back", at, last), true, nil
}

// noneNewer refuses to take back migrations below some of a newer version.
func noneNewer(ctx context.Context, provider *goose.Provider) error {
	told, newer, err := standing(ctx, provider)
	if newer {
		return errors.New(told)
	}
	return err
}
