package firebase

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

const (
	// production is where Identity Toolkit is; an emulator has it below its own address.
	production = "https://" + host
	host       = "identitytoolkit.googleapis.com"
	// maxAnswer bounds what is read of an answer, in bytes: a user's record has a few KiB.
	maxAnswer = 1 << 20
)

// toolkit calls Identity Toolkit, each time once.
type toolkit struct {
	client   *http.Client
	accounts string // URL of the project's users
	bearer   string // token of an emulator's administrator; "": client has credentials
}

func newToolkit(client *http.Client, base, project string) *toolkit {
	return &toolkit{client: client, accounts: base + "/v1/projects/" + url.PathEscape(project) + "/accounts"}
}

// change is what update is asked for. What is "" stays.
type change struct {
	UID        string `json:"localId"`
	Claims     string `json:"customAttributes,omitempty"` // JSON
	ValidSince string `json:"validSince,omitempty"`       // seconds since 1970
}

// errNoUser is the answer to a look-up of nobody.
var errNoUser = errors.New("no user has that uid")

// lookup returns the user's custom claims.
func (t *toolkit) lookup(ctx context.Context, uid string) (custom map[string]any, err error) {
	var answer struct {
		Users []struct {
			Claims string `json:"customAttributes"`
		} `json:"users"`
	}
	ask := struct {
		UIDs []string `json:"localId"`
	}{[]string{uid}}
	if err := t.post(ctx, "lookup", ask, &answer); err != nil {
		return nil, err
	}
	if len(answer.Users) == 0 {
		return nil, errNoUser
	}
	encoded := answer.Users[0].Claims
	if encoded == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(encoded), &custom); err != nil {
		return nil, errUnreadable
	}
	return custom, nil
}

// update changes the user.
func (t *toolkit) update(ctx context.Context, c change) error { return t.post(ctx, "update", c, nil) }

// answered is an answer that is not success.
type answered struct {
	status  int
	header  http.Header
	message string // Auth's own
}

func (a *answered) Error() string { return fmt.Sprintf("answer %d %s", a.status, a.message) }

// errUnreadable is an answer of success that is not what it should be.
var errUnreadable = errors.New("the answer could not be read")

// refusal is why a call was not made.
type refusal struct{ error }

// post makes one call. An answer that is not wanted is nil.
func (t *toolkit) post(ctx context.Context, method string, ask, answer any) error {
	body, err := json.Marshal(ask)
	if err != nil {
		return &refusal{fmt.Errorf("encode request: %w", err)}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.accounts+":"+method, bytes.NewReader(body))
	if err != nil {
		return &refusal{fmt.Errorf("make request: %w", err)}
	}
	req.Header.Set("Content-Type", "application/json")
	if t.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+t.bearer)
	}
	resp, err := t.client.Do(req)
	if err != nil {
		if called := (*url.Error)(nil); errors.As(err, &called) {
			err = called.Err // without the URL
		}
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // was only read
	encoded, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case resp.StatusCode >= http.StatusMultipleChoices:
		return &answered{resp.StatusCode, resp.Header, messageOf(encoded)}
	case err != nil:
		return fmt.Errorf("read answer: %w", err)
	case answer == nil:
		return nil
	}
	if err := json.Unmarshal(encoded, answer); err != nil {
		return errUnreadable
	}
	return nil
}

// asAnswered keeps redirections from being followed: Identity Toolkit has none.
func asAnswered(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
