package auth_test

import (
	"net/http"
	"slices"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/berthproject/berth/apiserver/auth/pki"
)

// TestFrontProxyNamesTheUser checks that the headers of a front proxy are valid with its certificate only, and that the
// front proxy has no user without them.
func TestFrontProxyNamesTheUser(t *testing.T) {
	c := newTestCluster(t)
	files := must[pki.FrontProxy](t)(c.server.Authority().FrontProxy())
	proxy := rest.TLSClientConfig{CertFile: files.CertFile, KeyFile: files.KeyFile, CAData: c.server.Authority().CAPEM()}
	other := proxy
	other.CertFile, other.KeyFile = "", ""
	var err error
	if other.CertData, other.KeyData, err = c.server.Authority().ClientPEM(pki.Identity{Name: pki.FrontProxyUser}); err != nil {
		t.Fatal(err)
	}
	userOf := func(certificate rest.TLSClientConfig, name string) (authenticationv1.UserInfo, error) {
		config := &rest.Config{Host: "https://" + c.server.Address(), TLSClientConfig: certificate}
		if name != "" {
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return transport.NewAuthProxyRoundTripper(name, "u1", []string{"team"}, nil, next)
			})
		}
		review, err := kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			return authenticationv1.UserInfo{}, err
		}
		return review.Status.UserInfo, nil
	}
	got, err := userOf(proxy, "ann")
	if err != nil || got.Username != "ann" || got.UID != "u1" || !slices.Equal(got.Groups, []string{"team", "system:authenticated"}) {
		t.Errorf("front proxy: got user %+v and error %v, want ann of groups team and system:authenticated", got, err)
	}
	if _, err := userOf(proxy, ""); err == nil {
		t.Error("front proxy without headers: got no error, want one")
	}
	// The client CA signs certificates with any name.
	if got, err := userOf(other, "ann"); err == nil && got.Username == "ann" {
		t.Error("headers with a certificate of the client CA: got user ann, want another one")
	}
	if got, err := userOf(rest.TLSClientConfig{CAData: c.server.Authority().CAPEM()}, "ann"); err == nil {
		t.Errorf("headers without a certificate: got user %s, want an error", got.Username)
	}
}
