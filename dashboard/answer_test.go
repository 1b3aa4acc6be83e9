package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// TestF30_TheCodeOfARunAnswersInAForm: the form of a query and that of an update show what the code
// answers, and what is wrong with the question. An update is carried out by its form alone, and once
// however often that is sent.
func TestF30_TheCodeOfARunAnswersInAForm(t *testing.T) {
	basket := workflow.New("basket", func(wf *workflow.Context, _ string) (string, error) {
		total := 0
		workflow.HandleQuery(wf, workflow.NewQuery[string, map[string]int]("total"), func(in string) (map[string]int, error) {
			if in == "" {
				return nil, errors.New("a currency is missing")
			}
			return map[string]int{in: total}, nil
		})
		workflow.HandleUpdate(wf, workflow.NewUpdate[int, int]("add"), func(_ *workflow.Context, n int) (int, error) {
			total += n
			return total, nil
		}, workflow.Validator(func(n int) error {
			if n > 100 {
				return errors.New("that is too much")
			}
			return nil
		}))
		return "", workflow.Sleep(wf, 24*time.Hour)
	})
	srv, eng := servedBy(t, memory.New(), perdure.Register(basket))
	must(t, eng.Start(t.Context()))
	_, err := perdure.Start(t.Context(), eng, basket, "b-1", "")
	must(t, err)

	says := func(resp *http.Response, err error, status int, parts ...string) string {
		t.Helper()
		must(t, err)
		text := body(t, resp)
		if resp.StatusCode != status {
			t.Errorf("the status is %d, and not %d", resp.StatusCode, status)
		}
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%q is not on the page: %s", part, text)
			}
		}
		return text
	}
	get := func(parts []string, address ...string) string {
		t.Helper()
		resp, err := http.Get(srv.URL + "/shop/" + string(link("change", append([]string{"kind", "run", "name", "b-1"}, address...)...)))
		return says(resp, err, http.StatusOK, parts...)
	}
	get([]string{"Name of the query", `method="get"`}, "do", "query")
	get([]string{"EUR", "perdure query b-1 total"}, "do", "query", "asked", "yes", "handler", "total", "input", `"EUR"`)
	get([]string{"a currency is missing"}, "do", "query", "asked", "yes", "handler", "total", "input", `""`)
	get([]string{"it has total"}, "do", "query", "asked", "yes", "handler", "sum")
	get([]string{"The handler is missing. Give the one"}, "do", "query", "asked", "yes")
	get([]string{"must be JSON"}, "do", "query", "asked", "yes", "handler", "total", "input", "{")

	form := get([]string{"Name of the update", `method="post"`}, "do", "update", "asked", "yes", "handler", "add", "input", "3")
	total := []string{"do", "query", "asked", "yes", "handler", "total", "input", `"EUR"`}
	get([]string{"&#34;EUR&#34;: 0"}, total...) // it was not sent
	key := regexp.MustCompile(`name="request" value="([^"]+)"`).FindStringSubmatch(form)
	if key == nil {
		t.Fatalf("the form has no key: %s", form)
	}
	post := func(status int, key, input string, parts ...string) {
		t.Helper()
		resp, err := http.PostForm(srv.URL+"/shop/change", url.Values{
			"kind": {"run"}, "do": {"update"}, "name": {"b-1"}, "asked": {"yes"}, "handler": {"add"}, "input": {input}, "request": {key},
		})
		says(resp, err, status, parts...)
	}
	post(http.StatusOK, key[1], "3", `<pre tabindex="0">3</pre>`, "perdure update b-1 add 3")
	post(http.StatusOK, key[1], "3", `<pre tabindex="0">3</pre>`)
	get([]string{"&#34;EUR&#34;: 3"}, total...)
	post(http.StatusUnprocessableEntity, "other", "101", "that is too much")
	post(http.StatusUnprocessableEntity, key[1], "4", "belongs to update")
}
