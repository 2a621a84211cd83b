package migrations

import (
	"context"
	"errors"
	"testing"

	"outboxrelay/deploy/local/postgres/postgrestest"
)

// Each instance of a deployment may migrate at its start.
func TestSeveralMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	const several = 6
	ended := make(chan error, several)
	ctx := bounded(t)
	begin := make(chan struct{})
	for range several {
		_, provider := open(t, url)
		if _, err := provider.GetDBVersion(ctx); err != nil { // which makes the table of versions: Goose tries that again itself
			t.Fatal(err)
		}
		go func() {
			<-begin
			_, err := provider.Up(ctx)
			ended <- err
		}()
	}
	close(begin)
	for range several {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	_, provider := open(t, url)
	if version, err := provider.GetDBVersion(ctx); err != nil || version != 4 {
		t.Errorf("the database is at %d: %v", version, err)
	}
}

// Who waits for another may be stopped, and another schema of the database is not waited for.
func TestWaitForAnotherEnds(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	db, provider := open(t, url)
	ctx := bounded(t)
	holder, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if err := (lockOfSchema{}).SessionLock(ctx, holder); err != nil {
		t.Fatal(err)
	}
	stopping, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := provider.Up(stopping)
		ended <- err
	}()
	execute(t, db, "CREATE SCHEMA other")
	_, beside := open(t, inSchema(url, "other"))
	if _, err := beside.Up(ctx); err != nil {
		t.Errorf("beside another schema: %v", err)
	}
	select {
	case err := <-ended:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("stopped while it waits: %v", err)
	}
	if err := (lockOfSchema{}).SessionUnlock(ctx, holder); err != nil {
		t.Error(err)
	}
	if _, err := provider.Up(ctx); err != nil {
		t.Errorf("once it is free: %v", err)
	}
}
