package review

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// gate lets requests in that come from the page itself, and says whose they are: each
// token is one person's, and nothing else in a request names them. The token is proven
// once, with the address that was printed, and by a session from then on; what changes
// something shows it once more in a header, which no foreign page can set.
type gate struct {
	tokens   []string // by the number of the person
	sessions sessions
	cookie   string
	port     string
	// host is the name that the address was given with, or empty where it is a number
	// that means every address of the machine.
	host string
}

// tokenHeader carries the token of requests that change something.
const tokenHeader = "X-Doubletake-Token"

// ShortestToken is how many characters a token has at least.
const ShortestToken = 16

func newGate(address string, tokens ...string) (*gate, error) {
	for i, token := range tokens {
		if len(token) < ShortestToken || strings.ContainsFunc(token, notInToken) {
			return nil, fmt.Errorf("the token must be %d letters, digits, - or _ at least", ShortestToken)
		}
		for _, other := range tokens[:i] {
			if token == other {
				return nil, errors.New("two people have the same token")
			}
		}
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("the address %q: %w", address, err)
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = ""
	}
	// Cookies do not tell ports apart: the server of each has a name of its own.
	return &gate{tokens: tokens, cookie: "doubletake-" + port, host: host, port: port}, nil
}

func notInToken(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
}

// guard refuses what does not come from the page, before anything else looks at it.
func (g *gate) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if err := g.origin(r); err != nil {
			refuse(w, http.StatusForbidden, err)
			return
		}
		if given := r.URL.Query().Get("token"); given != "" && r.URL.Path == "/" && r.Method == http.MethodGet {
			if number, ok := g.whose(given); ok {
				http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.sessions.begin(number), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
				// The token leaves the address line, and with it the browser's history.
				http.Redirect(w, r, "/", http.StatusSeeOther)
				return
			}
		}
		number, known := 0, false
		if cookie, err := r.Cookie(g.cookie); err == nil {
			number, known = g.sessions.reviewer(cookie.Value)
		}
		if !known {
			refuse(w, http.StatusUnauthorized, errors.New("no token: open the address that doubletake printed, with all that stands behind its ?"))
			return
		}
		shown := r.Header.Get(tokenHeader)
		owner, valid := g.whose(shown)
		switch change := r.Method != http.MethodGet && r.Method != http.MethodHead; {
		case valid && owner != number:
			// Two people's pages in one browser: neither may act as the other.
			refuse(w, http.StatusConflict, errors.New("this browser was opened for somebody else since: open your own address again"))
			return
		case !valid && (change || shown != ""):
			refuse(w, http.StatusForbidden, errors.New("a request without the page's token: reload the page"))
			return
		}
		next.ServeHTTP(w, withReviewer(r, number))
	})
}

// whose is the number of the person that a token belongs to.
func (g *gate) whose(token string) (number int, ok bool) {
	for i, own := range g.tokens {
		if subtle.ConstantTimeCompare([]byte(token), []byte(own)) == 1 {
			number, ok = i, true
		}
	}
	return number, ok
}

// origin says what is wrong with where a request goes to and comes from.
func (g *gate) origin(r *http.Request) error {
	if !g.ours(r.Host) {
		return fmt.Errorf("the request is for the host %q, which this is not", visible(r.Host))
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		// A link may lead here, and then shows the token; anything else may not.
		if r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Method != http.MethodGet {
			return errors.New("the request comes from another site")
		}
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	from, err := url.Parse(origin)
	if err != nil || from.Scheme != "http" || from.Host != r.Host {
		return fmt.Errorf("the request comes from %q, not from this page", visible(origin))
	}
	return nil
}

// ours says whether a Host header names this server: by the name or number that it
// listens on, or by a number or localhost where it listens on all. No other name is
// taken, so that none can be made to point here.
func (g *gate) ours(header string) bool {
	host, port, err := net.SplitHostPort(header)
	if err != nil {
		host, port = strings.Trim(header, "[]"), "80"
	}
	if port != g.port || host == "" {
		return false
	}
	if strings.EqualFold(host, g.host) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	number := err == nil
	if g.host == "" {
		return number || strings.EqualFold(host, "localhost")
	}
	// The same number may be written in more than one way, and a browser leaves the zone out.
	if own, err := netip.ParseAddr(g.host); err == nil && number && own.WithZone("").Unmap() == ip.WithZone("").Unmap() {
		return true
	}
	loopback, err := Loopback(net.JoinHostPort(g.host, g.port))
	return err == nil && loopback && (strings.EqualFold(host, "localhost") || number && ip.IsLoopback())
}
