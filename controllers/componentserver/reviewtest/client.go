package reviewtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

// Reviews responds to TokenReviews and SubjectAccessReviews.
type Reviews struct {
	Tokens []string                     // valid tokens; each is its user's name
	Allow  func(user, path string) bool // whether a user may get a path
}

// Client returns client with these responses to reviews.
func (r Reviews) Client(client kubernetes.Interface) kubernetes.Interface {
	return &reviewClient{Interface: client, reviews: kubernetes.NewForConfigOrDie(&rest.Config{
		Host: "https://reviews.test", Transport: r, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})}
}

type reviewClient struct {
	kubernetes.Interface
	reviews kubernetes.Interface
}

func (c *reviewClient) AuthenticationV1() authenticationclient.AuthenticationV1Interface {
	return c.reviews.AuthenticationV1()
}

func (c *reviewClient) AuthorizationV1() authorizationclient.AuthorizationV1Interface {
	return c.reviews.AuthorizationV1()
}

// IsWatchListSemanticsUnSupported reports that the fake clientset does not support WatchList.
func (*reviewClient) IsWatchListSemanticsUnSupported() bool { return true }

// RoundTrip implements http.RoundTripper without a network.
func (r Reviews) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	var review any
	if strings.HasSuffix(request.URL.Path, "/tokenreviews") {
		review, err = r.reviewToken(body)
	} else {
		review, err = r.reviewAccess(body)
	}
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(review)
	return &http.Response{StatusCode: http.StatusCreated, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(data))}, err
}

func (r Reviews) reviewToken(body []byte) (*authenticationv1.TokenReview, error) {
	review := &authenticationv1.TokenReview{}
	if err := json.Unmarshal(body, review); err != nil {
		return nil, err
	}
	for _, token := range r.Tokens {
		if token == review.Spec.Token {
			review.Status.Authenticated, review.Status.User.Username = true, token
		}
	}
	return review, nil
}

func (r Reviews) reviewAccess(body []byte) (*authorizationv1.SubjectAccessReview, error) {
	review := &authorizationv1.SubjectAccessReview{}
	if err := json.Unmarshal(body, review); err != nil {
		return nil, err
	}
	review.Status.Allowed = r.Allow(review.Spec.User, review.Spec.NonResourceAttributes.Path)
	return review, nil
}
