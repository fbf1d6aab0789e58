package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestPodName(t *testing.T) {
	for _, tc := range []struct{ arg, flag, want string }{
		{"web-1", "", "context/web-1"},
		{"web-1", "shop", "shop/web-1"},
		{"shop/web-1", "", "shop/web-1"},
		{"shop/web-1", "shop", "shop/web-1"},
		{"pod/web-1", "", "context/web-1"},
		{"pods/web-1", "shop", "shop/web-1"},
		{"shop/web-1", "other", "--namespace other: pod shop/web-1 is in another namespace"},
	} {
		namespace, name, err := PodName(tc.arg, tc.flag, func() string { return "context" })
		got := namespace + "/" + name
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, tc.want) {
			t.Errorf("pod %s, -n %q: got %s, want %s", tc.arg, tc.flag, got, tc.want)
		}
	}
}

func TestOnePodArg(t *testing.T) {
	check := OnePodArg("explain pod")
	for _, args := range []string{"", "/web", "shop/", "shop/web/1", "web 1"} {
		if err := check(nil, strings.Fields(args)); err == nil {
			t.Errorf("%q: got no error, want one", args)
		}
	}
	for _, arg := range []string{"web", "shop/web", "pod/web"} {
		if err := check(nil, []string{arg}); err != nil {
			t.Errorf("%q: got error %v, want none", arg, err)
		}
	}
}

func TestNodeNames(t *testing.T) {
	if got := NodeNames([]string{"n1", "node/n2", "no/n3"}); !slices.Equal(got, []string{"n1", "n2", "n3"}) {
		t.Errorf("got %q, want n1, n2 and n3", got)
	}
}
