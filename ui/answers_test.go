package ui

import (
	"context"
	"net/http"
	"net/http/httptest"
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

// A request times out, also while it waits for its turn.
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
				s.answer(w, httptest.NewRequest(http.MethodGet, "/ui/api/queue", nil), hang)
				if w.Code != http.StatusGatewayTimeout {
					t.Errorf("got status %d %s, want 504", w.Code, w.Body)
				}
			})
		}
		served.Wait()
	})
}
