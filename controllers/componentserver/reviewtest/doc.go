// Package reviewtest fakes the TokenReviews and SubjectAccessReviews of an API server. Delegated authentication and
// authorization need a REST client, which client-go's fake clientset lacks.
package reviewtest
