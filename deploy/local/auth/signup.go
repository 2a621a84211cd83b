package auth

// signUpRequest makes an account. returnSecureToken and clientType change nothing.
type signUpRequest struct {
	LocalID       string  `json:"localId"`
	Email         *string `json:"email"`
	EmailVerified bool    `json:"emailVerified"`
	Password      string  `json:"password"`
	DisplayName   string  `json:"displayName"`
	PhotoURL      string  `json:"photoUrl"`
	Disabled      bool    `json:"disabled"`

	ReturnSecureToken bool   `json:"returnSecureToken"`
	ClientType        string `json:"clientType"`
}

type signUpResponse struct {
	Kind        string `json:"kind"`
	LocalID     string `json:"localId"`
	DisplayName string `json:"displayName,omitempty"`
	Email       string `json:"email,omitempty"`
	*tokens            // nil for the administrator
}

func signUp(c *call, p *project, req signUpRequest) (any, change, error) {
	a := account{
		LocalID: req.LocalID, DisplayName: req.DisplayName,
		CreatedAt: c.now.UnixMilli(), LastLoginAt: c.now.UnixMilli(),
	}
	provider := ""
	if c.admin {
		if _, taken := p.accounts[req.LocalID]; taken {
			return nil, change{}, refuse("DUPLICATE_LOCAL_ID")
		}
		a.PhotoURL, a.Disabled, a.EmailVerified = req.PhotoURL, req.Disabled, &req.EmailVerified
	} else {
		var err error
		if provider, err = clientProvider(req); err != nil {
			return nil, change{}, err
		}
		if provider == providerPassword {
			a.EmailVerified = new(false)
		}
	}
	if a.LocalID == "" {
		a.LocalID = newLocalID()
	}
	if req.Email != nil && (*req.Email != "" || provider != "") {
		email, err := canonicalEmail(*req.Email)
		if err != nil {
			return nil, change{}, err
		}
		if _, taken := p.withEmail(email); taken {
			return nil, change{}, refuse("EMAIL_EXISTS")
		}
		a.Email = email
	}
	if req.Password != "" {
		if err := a.setPassword(req.Password, c.now); err != nil {
			return nil, change{}, err
		}
	}
	answer := signUpResponse{Kind: "identitytoolkit#SignupNewUserResponse", LocalID: a.LocalID, DisplayName: a.DisplayName, Email: a.Email}
	if provider != "" {
		answer.tokens = a.issue(c, provider, nil)
	}
	return answer, change{Put: []account{a}}, nil
}

// clientProvider is how a client that makes its own account will sign in.
func clientProvider(req signUpRequest) (string, error) {
	switch {
	case req.LocalID != "":
		return "", refuse("UNEXPECTED_PARAMETER : User ID")
	case req.Email == nil && req.Password == "":
		return providerAnonymous, nil
	case req.Email == nil:
		return "", refuse("MISSING_EMAIL")
	case req.Password == "":
		return "", refuse("MISSING_PASSWORD")
	}
	return providerPassword, nil
}
