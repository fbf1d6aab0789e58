package main

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

// askWithin bounds the questions that are asked before a part starts.
const askWithin = 10 * time.Second

// need refuses, before a part starts, a credential that may not do what the part
// is for: one line instead of a log full of refusals. A server that does not
// answer yet is no reason; the parts wait for it.
func need(ctx context.Context, config *rest.Config, what authorizationv1.ResourceAttributes, advice string) error {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
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
	return fmt.Errorf("user %q may not %s %s at %s: %s", whoAmI(ctx, client), what.Verb, resource, config.Host, advice)
}

// whoAmI is the name that the server knows a credential by; empty if it does not
// say.
func whoAmI(ctx context.Context, client kubernetes.Interface) string {
	me, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return ""
	}
	return me.Status.UserInfo.Username
}

// nodeOf is the node that a credential is for; empty if it is not a node's. The server is asked only where the credential is no
// certificate: it may not be there yet when an agent starts.
func nodeOf(ctx context.Context, config *rest.Config) string {
	if name := certified(config); name != "" {
		return name
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return ""
	}
	name, ok := strings.CutPrefix(whoAmI(ctx, client), nodeUser)
	if !ok {
		return ""
	}
	return name
}

// certified is the node that a client certificate is for.
func certified(config *rest.Config) string {
	loaded := rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(loaded); err != nil {
		return "" // whoever connects is told
	}
	chain, err := cert.ParseCertsPEM(loaded.CertData)
	if err != nil {
		return ""
	}
	name, ok := strings.CutPrefix(chain[0].Subject.CommonName, nodeUser)
	if !ok {
		return ""
	}
	return name
}

// nodeUser is what the names of nodes' users begin with.
const nodeUser = "system:node:"

// inWords adds what to do to errors that say it badly.
func inWords(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: is the cluster running? `berth up` starts the one of the default data directory", err)
	}
	return err
}
