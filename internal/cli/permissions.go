package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
)

// reviewTimeout bounds the questions that are asked before a part starts.
const reviewTimeout = 10 * time.Second

// RequirePermission refuses, before a part starts, a credential that may not do what the part
// is for: one line instead of a log full of refusals. A server that does not
// answer yet is no reason; the parts wait for it.
func RequirePermission(ctx context.Context, config *rest.Config, what authorizationv1.ResourceAttributes, advice string) error {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	may, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what}}, metav1.CreateOptions{})
	if err != nil || may.Status.Allowed {
		return nil
	}
	resource := strings.TrimRight(what.Resource+"/"+what.Subresource, "/")
	if what.Name != "" {
		resource += " " + what.Name
	}
	return fmt.Errorf("user %q may not %s %s at %s: %s", currentUser(ctx, client), what.Verb, resource, config.Host, advice)
}

// currentUser is the name that the server knows a credential by; empty if it does not
// say.
func currentUser(ctx context.Context, client kubernetes.Interface) string {
	me, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return ""
	}
	return me.Status.UserInfo.Username
}

// CredentialNode is the node that a credential is for; empty if it is not a node's. The server is asked only where the credential is no
// certificate: it may not be there yet when an agent starts.
func CredentialNode(ctx context.Context, config *rest.Config) string {
	if name := certificateNode(config); name != "" {
		return name
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return ""
	}
	name, ok := strings.CutPrefix(currentUser(ctx, client), nodeUserPrefix)
	if !ok {
		return ""
	}
	return name
}

// certificateNode is the node that a client certificate is for.
func certificateNode(config *rest.Config) string {
	loaded := rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(loaded); err != nil {
		return "" // whoever connects is told
	}
	chain, err := cert.ParseCertsPEM(loaded.CertData)
	if err != nil {
		return ""
	}
	name, ok := strings.CutPrefix(chain[0].Subject.CommonName, nodeUserPrefix)
	if !ok {
		return ""
	}
	return name
}

// nodeUserPrefix is what the names of nodes' users begin with.
const nodeUserPrefix = "system:node:"

// AddHint adds what to do to errors that say it badly.
func AddHint(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: is the cluster running? `berth up` starts the one of the default data directory", err)
	}
	return err
}
