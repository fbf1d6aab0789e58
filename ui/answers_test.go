package ui

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/rest"
)

// slowWriter is a client that receives nothing until release is closed.
type slowWriter struct {
	*httptest.ResponseRecorder
	writing *sync.WaitGroup
	release chan struct{}
}

func (w slowWriter) Write(data []byte) (int, error) {
	w.writing.Done()
	<-w.release
	return w.ResponseRecorder.Write(data)
}

// TestSlowClientsDoNotBlockAnswers checks that an answer that is being sent does not occupy a slot.
func TestSlowClientsDoNotBlockAnswers(t *testing.T) {
	s := newPage(t, &rest.Config{}, false)
	var writing, served sync.WaitGroup
	release := make(chan struct{})
	writing.Add(maxAnswers)
	for range maxAnswers {
		r := httptest.NewRequest(http.MethodGet, "/ui/api/queue", nil)
		r.Host = host
		r.Header.Set("Authorization", "Bearer good")
		served.Go(func() { s.ServeHTTP(slowWriter{httptest.NewRecorder(), &writing, release}, r) })
	}
	writing.Wait()
	if n := len(s.answering); n != 0 {
		t.Errorf("got %d answers that count as being computed while they are sent, want 0", n)
	}
	close(release)
	served.Wait()
}

// TestAnswersHaveATimeout checks that a request times out, also while it waits for a slot.
func TestAnswersHaveATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPage(t, &rest.Config{}, false)
		hang := func(ctx context.Context) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		var served sync.WaitGroup
		for range maxAnswers + 1 {
			served.Go(func() {
				w := httptest.NewRecorder()
				s.answer(w, httptest.NewRequest(http.MethodGet, "/ui/api/queue", nil), &rest.Config{}, hang)
				if w.Code != http.StatusGatewayTimeout {
					t.Errorf("got status %d %s, want 504", w.Code, w.Body)
				}
			})
		}
		served.Wait()
	})
}

// TestUnresponsiveNodesDoNotBlockAnswers checks that requests for reports of a node that does not respond use separate
// slots and time out.
func TestUnresponsiveNodesDoNotBlockAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPage(t, &rest.Config{}, false)
		get := s.serveReport(func(ctx context.Context, _ *rest.Config, _ string) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		var served sync.WaitGroup
		for range maxAnswers {
			served.Go(func() {
				w := httptest.NewRecorder()
				get(w, httptest.NewRequest(http.MethodGet, "/ui/api/node/pressure?name=n1", nil), &rest.Config{})
				if want := "took longer than 10s"; w.Code != http.StatusGatewayTimeout || !strings.Contains(w.Body.String(), want) {
					t.Errorf("got status %d %s, want 504 and %q", w.Code, w.Body, want)
				}
			})
		}
		synctest.Wait()
		if len(s.answering) != 0 || len(s.reporting) != maxAnswers {
			t.Errorf("got %d answers and %d reports, want 0 and %d", len(s.answering), len(s.reporting), maxAnswers)
		}
		served.Wait()
	})
}
