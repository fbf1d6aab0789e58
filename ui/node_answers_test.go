package ui

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/drain"
)

func TestParametersOfPreviewsAreChecked(t *testing.T) {
	answers := newAnswers()
	var nodes []string
	var options drain.Options
	limit := -1
	answers.Drain = func(_ context.Context, _ *rest.Config, n []string, o drain.Options) ([]byte, error) {
		nodes, options = n, o
		return []byte("{}"), nil
	}
	answers.Descheduler = func(_ context.Context, _ *rest.Config, n *int) ([]byte, error) {
		if n != nil {
			limit = *n
		}
		return []byte("{}"), nil
	}
	s := newPageWith(t, Options{Cluster: &rest.Config{}, Answers: answers})
	for path, want := range map[string]int{
		"drain": http.StatusBadRequest, "drain?node=A_b": http.StatusBadRequest, "drain?node=n1&force=yes": http.StatusBadRequest,
		"drain?node=n1&node=n2&surge=true&force=false": http.StatusOK, "node/pressure?name=": http.StatusBadRequest, "node/disk?name=../n1": http.StatusBadRequest,
		"node/disk?name=n1": http.StatusOK, "descheduler?max-evictions=-1": http.StatusBadRequest, "descheduler?max-evictions=x": http.StatusBadRequest,
		"descheduler": http.StatusOK, "descheduler?max-evictions=3": http.StatusOK, "zones": http.StatusOK,
		"drain?" + strings.Repeat("node=n1&", maxDrainNodes+1): http.StatusBadRequest,
	} {
		if w := request(s, http.MethodGet, "/ui/api/"+path, "", "Authorization", "Bearer good"); w.Code != want {
			t.Errorf("%.60s: got status %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
	if !slices.Equal(nodes, []string{"n1", "n2"}) || !options.Surge || options.Force || !options.IgnoreDaemonSets {
		t.Errorf("got drain of %v with %+v, want n1 and n2 with Surge and IgnoreDaemonSets", nodes, options)
	}
	if limit != 3 {
		t.Errorf("got limit %d, want 3", limit)
	}
}
