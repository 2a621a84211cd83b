package firebase

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/api/googleapi"
	identitytoolkit "google.golang.org/api/identitytoolkit/v1"
	"google.golang.org/api/option"

	"outboxrelay/claims"
)

const (
	// production is where Identity Toolkit is; an emulator has it below its own address.
	production = "https://" + host
	host       = "identitytoolkit.googleapis.com"
)

// toolkit calls Identity Toolkit, each time once.
type toolkit struct {
	accounts *identitytoolkit.ProjectsAccountsService
	project  string
}

// newToolkit is for the users of project at base, a URL without a path of the API's. client has
// the credentials.
func newToolkit(ctx context.Context, client *http.Client, base, project string) (*toolkit, error) {
	service, err := identitytoolkit.NewService(ctx, option.WithHTTPClient(client), option.WithEndpoint(base+"/"))
	if err != nil {
		return nil, err
	}
	return &toolkit{service.Projects.Accounts_, project}, nil
}

// errNoUser is the answer to a look-up of nobody.
var errNoUser = errors.New("no user has that uid")

func (t *toolkit) lookup(ctx context.Context, uid string) (user claims.User, err error) {
	ask := &identitytoolkit.GoogleCloudIdentitytoolkitV1GetAccountInfoRequest{LocalId: []string{uid}}
	answer, err := t.accounts.Lookup(t.project, ask).Context(ctx).Do()
	if err != nil {
		return user, failed(err)
	}
	if len(answer.Users) == 0 {
		return user, errNoUser
	}
	found := answer.Users[0]
	if found.CreatedAt > 0 {
		user.Created = time.UnixMilli(found.CreatedAt).UTC()
	}
	if found.CustomAttributes == "" {
		return user, nil
	}
	if user.Claims, err = claims.DecodeClaims([]byte(found.CustomAttributes)); err != nil {
		return user, errUnreadable
	}
	return user, nil
}

// setClaims puts JSON in place of the user's custom claims.
func (t *toolkit) setClaims(ctx context.Context, uid, encoded string) error {
	return t.update(ctx, &identitytoolkit.GoogleCloudIdentitytoolkitV1SetAccountInfoRequest{LocalId: uid, CustomAttributes: encoded})
}

// revoke ends the tokens that the user was given before since.
func (t *toolkit) revoke(ctx context.Context, uid string, since time.Time) error {
	return t.update(ctx, &identitytoolkit.GoogleCloudIdentitytoolkitV1SetAccountInfoRequest{LocalId: uid, ValidSince: since.Unix()})
}

func (t *toolkit) update(ctx context.Context, change *identitytoolkit.GoogleCloudIdentitytoolkitV1SetAccountInfoRequest) error {
	_, err := t.accounts.Update(t.project, change).Context(ctx).Do()
	return failed(err)
}

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

// failed tells an answer from the want of one, and leaves out what might tell a secret: all of
// an answer but its message, and the URL.
func failed(err error) error {
	if answer := (*googleapi.Error)(nil); errors.As(err, &answer) {
		return &answered{answer.Code, answer.Header, short(answer.Message)}
	}
	if called := (*url.Error)(nil); errors.As(err, &called) {
		return called.Err
	}
	syntax, kind := (*json.SyntaxError)(nil), (*json.UnmarshalTypeError)(nil)
	if errors.As(err, &syntax) || errors.As(err, &kind) {
		return errUnreadable
	}
	return err
}

// asAnswered keeps redirections from being followed: Identity Toolkit has none.
func asAnswered(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
