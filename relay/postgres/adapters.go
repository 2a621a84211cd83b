package postgres

import (
	"context"
	"database/sql"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"
)

// ErrNoTransaction is the error of a *gorm.DB that is in no transaction: an event that is committed by
// itself may tell of what is rolled back.
var ErrNoTransaction = errors.New("append to " + Table + ": the *gorm.DB is in no transaction: use the one that db.Transaction or db.Begin gives")

// Append appends an event in the caller's transaction, which the caller commits, and returns its ID. An event whose ID
// is there already is a no-op if it is the same, and else a *CollisionError. What breaks the contract is an *InvalidError,
// and nothing was written. After any other error, which is the database's, the transaction is over.
func Append(ctx context.Context, tx pgx.Tx, event Event) (uuid.UUID, error) {
	return first(AppendAll(ctx, tx, event))
}

// AppendAll is Append for several events, of one aggregate in the order given. It locks the
// aggregates in the order that everybody's AppendAll does, so that two of them do not deadlock.
func AppendAll(ctx context.Context, tx pgx.Tx, events ...Event) ([]uuid.UUID, error) {
	return appendAll(ctx, pgxTx{tx}, events)
}

// AppendSQL is Append for database/sql.
func AppendSQL(ctx context.Context, tx *sql.Tx, event Event) (uuid.UUID, error) {
	return first(AppendAllSQL(ctx, tx, event))
}

// AppendAllSQL is AppendAll for database/sql.
func AppendAllSQL(ctx context.Context, tx *sql.Tx, events ...Event) ([]uuid.UUID, error) {
	return appendAll(ctx, sqlTx{tx}, events)
}

// AppendGORM is Append for GORM. tx is in a transaction, or the error is ErrNoTransaction.
func AppendGORM(ctx context.Context, tx *gorm.DB, event Event) (uuid.UUID, error) {
	return first(AppendAllGORM(ctx, tx, event))
}

// AppendAllGORM is AppendAll for GORM. tx is in a transaction, or the error is ErrNoTransaction.
func AppendAllGORM(ctx context.Context, tx *gorm.DB, events ...Event) ([]uuid.UUID, error) {
	if tx.Error != nil {
		return nil, tx.Error // of db.Begin, or of what was done before: the transaction is over
	}
	if _, ok := tx.Statement.ConnPool.(gorm.TxCommitter); !ok {
		return nil, ErrNoTransaction
	}
	return appendAll(ctx, sqlTx{tx.Statement.ConnPool}, events)
}

func first(ids []uuid.UUID, err error) (uuid.UUID, error) {
	if err != nil {
		return uuid.Nil, err
	}
	return ids[0], nil
}

type pgxTx struct{ pgx.Tx }

func (tx pgxTx) scan(ctx context.Context, text string, args []any, to ...any) (bool, error) {
	return found(tx.QueryRow(ctx, text, args...).Scan(to...))
}

// querier is a *sql.Tx, or what GORM has around one.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

type sqlTx struct{ querier }

func (tx sqlTx) scan(ctx context.Context, text string, args []any, to ...any) (bool, error) {
	return found(tx.QueryRowContext(ctx, text, args...).Scan(to...))
}

// found takes an answer without a row for what it is. pgx's error is that of database/sql, too.
func found(err error) (bool, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
