package publisher

import (
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"
)

// fitting are texts for a database of any encoding: what one lacks would have the statement fail, and with it the marks of a whole round.
// Those of UTF-8 have all characters, and SQL_ASCII takes any bytes; in others what is beyond ASCII becomes a question mark. A nil stays nil.
func fitting(tx pgx.Tx, texts []*string) []*string {
	switch tx.Conn().PgConn().ParameterStatus("server_encoding") {
	case "UTF8", "SQL_ASCII":
		return texts
	}
	fit := make([]*string, len(texts))
	for i, text := range texts {
		if text != nil {
			plain := strings.Map(ascii, *text)
			fit[i] = &plain
		}
	}
	return fit
}

func ascii(r rune) rune {
	if r > unicode.MaxASCII {
		return '?'
	}
	return r
}
