package archtest

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// inlineLink matches [text](target) and ![text](target), and reference matches [text]: target.
	inlineLink  = regexp.MustCompile(`\]\(([^)\s]+)(?:\s+"[^"]*")?\)`)
	reference   = regexp.MustCompile(`(?m)^\[[^\]]+\]:\s+(\S+)`)
	codeBlock   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	inlineCode  = regexp.MustCompile("`[^`\n]*`")
	heading     = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// markdownFiles returns the Markdown files of the repository with their text.
func markdownFiles(t *testing.T) map[string]string {
	t.Helper()
	root, files := filepath.Join("..", ".."), map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == ".berth" || d.Name() == "dist" || d.Name() == "node_modules" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.Type().IsRegular() && strings.HasSuffix(p, ".md") {
			text, err := os.ReadFile(p)
			files[p] = string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("found only %d Markdown files: the walk is broken", len(files))
	}
	return files
}

// linkTargets returns the targets of all links in Markdown text, except those in code.
func linkTargets(text string) []string {
	text = inlineCode.ReplaceAllString(codeBlock.ReplaceAllString(text, ""), "code")
	var targets []string
	for _, link := range []*regexp.Regexp{inlineLink, reference} {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			targets = append(targets, m[1])
		}
	}
	return targets
}

// hasAnchor reports whether Markdown text has a heading with an anchor, as GitHub names them.
func hasAnchor(text, anchor string) bool {
	for _, m := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		name := notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), "")
		if strings.ReplaceAll(name, " ", "-") == anchor {
			return true
		}
	}
	return false
}

// TestLinksResolve checks that each relative link in a Markdown file refers to a file and a heading
// of the repository.
func TestLinksResolve(t *testing.T) {
	files, checked := markdownFiles(t), 0
	for file, text := range files {
		for _, target := range linkTargets(text) {
			u, err := url.Parse(target)
			if err != nil {
				t.Errorf("%s: link %q: %v", file, target, err)
				continue
			}
			if u.IsAbs() || u.Host != "" {
				continue
			}
			checked++
			path := file
			if u.Path != "" {
				path = filepath.Join(filepath.Dir(file), filepath.FromSlash(u.Path))
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: link %q: the file does not exist", file, target)
				continue
			}
			if content, ok := files[path]; ok && u.Fragment != "" && !hasAnchor(content, u.Fragment) {
				t.Errorf("%s: link %q: the file has no such heading", file, target)
			}
		}
	}
	if checked < 50 {
		t.Fatalf("checked only %d links: the parser is broken", checked)
	}
}

// TestIndexLinksAllDocuments checks that docs/README.md links each document in docs.
func TestIndexLinksAllDocuments(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	files := markdownFiles(t)
	index := filepath.Join(docs, "README.md")
	linked := map[string]bool{index: true}
	for _, target := range linkTargets(files[index]) {
		linked[filepath.Join(docs, filepath.FromSlash(target))] = true
	}
	for file := range files {
		if strings.HasPrefix(file, docs+string(filepath.Separator)) && !linked[file] {
			t.Errorf("docs/README.md does not link %s", file)
		}
	}
}
