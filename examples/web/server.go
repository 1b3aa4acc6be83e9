package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// server translates between HTTP and workflows. It keeps nothing of its own: any
// process with the same database can serve the next request.
type server struct{ eng *perdure.Engine }

func (s server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /expenses/{id}", s.submit)
	mux.HandleFunc("GET /expenses/{id}", s.show)
	mux.HandleFunc("GET /expenses/{id}/result", s.result)
	mux.HandleFunc("POST /expenses/{id}/decision", s.decide)
	mux.HandleFunc("GET /livez", probe(s.eng.Live))
	mux.HandleFunc("GET /readyz", probe(s.eng.Ready))
	return http.MaxBytesHandler(mux, 64<<10)
}

// probe answers 200, or 503 with the reason.
func probe(health func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if err := health(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	}
}

// submit starts a claim under the ID that the client chose. A client that had no
// answer sends the same request again, and gets the same claim.
func (s server) submit(w http.ResponseWriter, r *http.Request) {
	var c Claim
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		http.Error(w, "the body is no claim: "+err.Error(), http.StatusBadRequest)
		return
	}
	h, err := perdure.Start(r.Context(), s.eng, Expense, r.PathValue("id"), c)
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Location", r.URL.Path)
	if h.Attached() {
		reply(w, http.StatusOK, map[string]string{"status": "known"})
		return
	}
	reply(w, http.StatusAccepted, map[string]string{"status": "accepted"})
}

// show tells where a claim stands: what its code says, or how it ended.
func (s server) show(w http.ResponseWriter, r *http.Request) {
	h := perdure.Attach[Settlement](s.eng, r.PathValue("id"))
	d, err := h.Describe(r.Context())
	if err != nil {
		fail(w, err)
		return
	}
	if d.Status != view.StatusRunning {
		reply(w, http.StatusOK, map[string]string{"status": d.Status})
		return
	}
	progress, err := Progress.Ask(r.Context(), h, struct{}{})
	if err != nil {
		fail(w, err)
		return
	}
	reply(w, http.StatusOK, map[string]string{"status": d.Status, "progress": progress})
}

// result waits for the end of a claim, but not longer than a proxy would: a client
// that gets 202 asks again.
func (s server) result(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 20*time.Second)
	defer cancel()
	settled, err := perdure.Attach[Settlement](s.eng, r.PathValue("id")).Result(ctx)
	switch {
	case err == nil:
		reply(w, http.StatusOK, settled)
	case errors.Is(err, context.DeadlineExceeded):
		reply(w, http.StatusAccepted, map[string]string{"status": view.StatusRunning})
	default:
		fail(w, err)
	}
}

// decide hands a decision to the claim. The key makes a repeated request harmless.
func (s server) decide(w http.ResponseWriter, r *http.Request) {
	var d Decision
	if err := json.NewDecoder(r.Body).Decode(&d); err != nil {
		http.Error(w, "the body is no decision: "+err.Error(), http.StatusBadRequest)
		return
	}
	claim := s.eng.Workflow(r.PathValue("id"))
	if err := Decide.SendOnce(r.Context(), claim, r.Header.Get("Idempotency-Key"), d); err != nil {
		fail(w, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// fail says whose fault it was: the client's, the claim's or the database's.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch inUse, input := new(view.IDInUseError), new(view.InputError); {
	case errors.Is(err, perdure.ErrNotFound):
		status = http.StatusNotFound
	case errors.Is(err, perdure.ErrClosed), errors.As(err, &inUse):
		status = http.StatusConflict
	case errors.As(err, &input):
		status = http.StatusBadRequest
	case store.Unavailable(err), errors.Is(err, perdure.ErrStopped):
		status = http.StatusServiceUnavailable // what was asked can be asked again
	}
	http.Error(w, err.Error(), status)
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone asks again
}
