package auth

import (
	"fmt"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/berthproject/berth/apiserver/auth/tokens"
)

// buildAuthenticator builds the authenticator chain: headers of a front proxy, client certificate, bearer token, token
// of a WebSocket request. A request without credentials is anonymous.
func (s *Security) buildAuthenticator() error {
	o := &s.options
	clientCA, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", o.ClientCAFile)
	if err != nil {
		return fmt.Errorf("client CA: %w", err)
	}
	frontProxy, proxyCA, err := s.frontProxyAuthenticator()
	if err != nil {
		return err
	}
	s.ClientCA = dynamiccertificates.NewUnionCAContentProvider(clientCA, proxyCA)
	if s.issuer, err = tokens.NewIssuer(o.Issuer, o.CA.SigningKey(), o.Now); err != nil {
		return err
	}
	s.tokenGetter = tokens.NewGetter(o.Client, o.Informers)
	serviceAccounts := tokens.NewVerifier(o.Issuer, &o.CA.SigningKey().PublicKey, o.Audiences, s.tokenGetter, o.Now)

	tokenAuthenticators := []authenticator.Token{}
	if o.TokenFile != "" {
		static, err := tokenfile.NewCSV(o.TokenFile)
		if err != nil {
			return fmt.Errorf("static token file %s: %w", o.TokenFile, err)
		}
		tokenAuthenticators = append(tokenAuthenticators, authenticator.WrapAudienceAgnosticToken(s.Audiences, static))
	}
	tokenAuthenticators = append(tokenAuthenticators, serviceAccounts)
	tokenAuthenticator := tokenunion.New(tokenAuthenticators...)
	s.tokens = group.NewTokenGroupAdder(tokenAuthenticator, []string{user.AllAuthenticated})

	authenticated := group.NewAuthenticatedGroupAdder(union.New(
		frontProxy,
		x509.NewDynamic(clientCA.VerifyOptions, x509.CommonNameUserConversion),
		bearertoken.New(tokenAuthenticator),
		websocket.NewProtocolAuthenticator(tokenAuthenticator),
	))
	s.Authenticator = union.NewFailOnError(authenticated, anonymous.NewAuthenticator(nil))
	return nil
}
