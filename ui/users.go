package ui

import (
	"context"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// userOf returns the user of credentials, as the API server authenticates it.
func userOf(ctx context.Context, config *rest.Config) (authenticationv1.UserInfo, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return authenticationv1.UserInfo{}, err
	}
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return authenticationv1.UserInfo{}, err
	}
	return review.Status.UserInfo, nil
}

// userLimit limits the concurrent uses of each user, and of all users.
type userLimit struct {
	perUser, total int

	mu    sync.Mutex
	used  int
	users map[string]int
}

func newUserLimit(perUser, total int) *userLimit {
	return &userLimit{perUser: perUser, total: total, users: map[string]int{}}
}

// acquire returns a function that ends the use, or nil if the limit is reached.
func (l *userLimit) acquire(user string) (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users[user] >= l.perUser || l.used >= l.total {
		return nil
	}
	l.users[user]++
	l.used++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.used--
		if l.users[user]--; l.users[user] == 0 {
			delete(l.users, user)
		}
	})
}

// acquireWithin retries acquire for a time. It returns nil if the limit is still reached, or if the context ends.
func (l *userLimit) acquireWithin(ctx context.Context, user string, d time.Duration) (release func()) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		if release := l.acquire(user); release != nil {
			return release
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return nil
		}
	}
}
