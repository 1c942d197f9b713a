package review

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"sync"
)

// NewToken draws a token that nobody guesses.
func NewToken() string { return rand.Text() }

// ReviewerToken is the token of one reviewer where several have one each. It follows from
// a secret and the name, so that addresses stay the same when the same command starts
// again, and tells nothing of the secret or of other reviewers' tokens.
func ReviewerToken(secret, name string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(name)) // a hash takes everything
	const bytes = 20        // 160 bits
	return base32.StdEncoding.EncodeToString(mac.Sum(nil)[:bytes])
}

// sessions are the browsers that have shown a token. What a browser keeps is a number
// drawn for it, which is worth nothing once the server has ended.
type sessions struct {
	mu   sync.Mutex
	list []session
}

type session struct {
	id       string
	reviewer int
}

// mostSessions are held at once; the oldest ends for a further one.
const mostSessions = 256

func (s *sessions) begin(reviewer int) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == mostSessions {
		s.list = append(s.list[:0], s.list[1:]...)
	}
	s.list = append(s.list, session{rand.Text(), reviewer})
	return s.list[len(s.list)-1].id
}

// reviewer is whose session it is.
func (s *sessions) reviewer(id string) (number int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.list {
		if subtle.ConstantTimeCompare([]byte(id), []byte(s.list[i].id)) == 1 {
			number, ok = s.list[i].reviewer, true
		}
	}
	return number, ok
}
