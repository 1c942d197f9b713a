package mutant

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var plainWord = regexp.MustCompile(`[\pL']+`)

// translate puts an item, or all that was written, into German word by word. A list of
// words is no translator; but whoever reads the result reads another language than that
// of the conversation, which is the defect.
func translate(s *Site, place string) (*change, string) {
	if place != placeSummary {
		text, ok := inGerman(s.Fixture.Item(place).Literal)
		if !ok {
			return nil, "the list of words knows too little of the text"
		}
		return s.put(place, text)
	}
	written := s.written()
	if len(written) == 0 {
		return nil, nothingWritten
	}
	length := 0
	for _, i := range written {
		length += len(s.Output.Messages[i].Content)
	}
	if length < leastForeign {
		return nil, "the compactor wrote too little to be in a language"
	}
	out := slices.Clone(s.Output.Messages)
	translated := false
	for _, i := range written {
		text, ok := inGerman(out[i].Content)
		if ok {
			out[i].Content, translated = text, true
		}
	}
	if !translated {
		return nil, "the list of words knows too little of the text"
	}
	return &change{out, "what was written anew, word by word in German"}, ""
}

// leastForeign is how many bytes a text must have to be in a language.
const leastForeign = 200

// translatedShare is the share of a text's plain words that must be known.
const translatedShare = 0.6

// inGerman replaces the words that the list knows; names, paths and numbers stay.
func inGerman(text string) (string, bool) {
	list := germanWords()
	known, total := 0, 0
	var b strings.Builder
	at := 0
	for _, span := range plainWord.FindAllStringIndex(text, -1) {
		word := text[span[0]:span[1]]
		b.WriteString(text[at:span[0]])
		at = span[1]
		if partOfName(text, span) {
			b.WriteString(word)
			continue
		}
		total++
		german, ok := list[strings.ToLower(word)]
		if !ok {
			b.WriteString(word)
			continue
		}
		known++
		if r := []rune(word); unicode.IsUpper(r[0]) && german != "" {
			g := []rune(german)
			german = string(unicode.ToUpper(g[0])) + string(g[1:])
		}
		b.WriteString(german)
	}
	b.WriteString(text[at:])
	return b.String(), total > 0 && float64(known) >= translatedShare*float64(total)
}

// partOfName says whether a word stands inside a path, an identifier or the like.
func partOfName(text string, span []int) bool {
	joins := func(c byte) bool { return strings.IndexByte("/_.-:@#0123456789`", c) >= 0 }
	if span[0] > 0 && joins(text[span[0]-1]) && (span[0] < 2 || text[span[0]-2] != ' ' || text[span[0]-1] != '-') {
		return true
	}
	return span[1]+1 < len(text) && joins(text[span[1]]) && text[span[1]+1] != ' ' && text[span[1]+1] != '\n'
}

// germanWords is a small dictionary.
func germanWords() map[string]string {
	const pairs = `the=die a=ein an=ein of=von to=zu in=in on=auf at=bei for=für by=durch with=mit as=wie is=ist are=sind was=war were=waren be=sein been=gewesen being=sein am=bin
do=tue does=tut did=tat done=getan has=hat have=haben had=hatte will=werde would=würde it=es its=sein this=dies that=das these=diese those=jene there=dort here=hier
i=ich you=du he=er she=sie we=wir they=sie me=mich my=mein your=dein our=unser us=uns their=ihr them=sie his=sein her=ihr and=und or=oder nor=noch if=wenn so=also
also=auch just=eben please=bitte ever=jemals any=irgendein anything=irgendetwas all=alle everything=alles some=einige from=von into=in than=als what=was who=wer
how=wie why=warum when=wenn where=wo both=beide under=unter between=zwischen through=durch during=während within=innerhalb against=gegen onto=auf upon=auf well=gut
yes=ja now=jetzt yet=noch still=noch such=solch own=eigen about=über while=solange up=auf out=aus off=ab should=soll shall=soll can=kann could=könnte may=darf
might=könnte must=muss not=nicht no=kein never=nie nothing=nichts nobody=niemand only=nur alone=allein before=bevor after=nachdem until=bis unless=außer because=weil
but=aber once=sobald then=dann first=zuerst last=letzte next=nächste new=neu old=alt same=gleiche other=andere each=jede every=jede one=ein two=zwei three=drei
more=mehr less=weniger most=meiste further=weiter write=schreiben wrote=schrieb written=geschrieben read=lesen run=laufen send=senden sent=gesandt put=legen
keep=behalten kept=behalten leave=lassen use=benutzen used=benutzt take=nehmen make=machen made=gemacht go=gehen goes=geht come=kommen comes=kommt get=bekommen
gets=bekommt give=geben let=lassen work=arbeiten works=arbeitet start=beginnen stop=aufhören open=öffnen close=schließen change=ändern changed=geändert
edit=bearbeiten modify=verändern delete=löschen deleted=gelöscht add=hinzufügen copy=kopieren move=bewegen moved=verlegt call=rufen called=gerufen ask=fragen
asks=fragt answer=antworten tell=sagen told=gesagt say=sagen says=sagt said=sagte want=wollen wants=will wait=warten waits=wartet stay=bleiben stays=bleibt
stand=stehen stands=steht hold=halten show=zeigen shows=zeigt see=sehen look=schauen find=finden found=gefunden know=wissen finish=beenden finished=fertig
complete=vollständig compare=vergleichen measure=messen check=prüfen test=Test tests=Tests commit=Commit publish=veröffentlichen print=drucken merge=zusammenführen
belongs=gehört belong=gehören remain=bleiben remains=bleibt touch=anfassen forbidden=verboten promise=versprechen promised=versprach book=buchen day=Tag days=Tage
week=Woche month=Monat year=Jahr today=heute tomorrow=morgen morning=Morgen evening=Abend night=Nacht hour=Stunde minutes=Minuten seconds=Sekunden file=Datei
files=Dateien folder=Ordner name=Name names=Namen number=Nummer numbers=Nummern list=Liste line=Zeile lines=Zeilen page=Seite table=Tabelle price=Preis prices=Preise
user=Nutzer assistant=Assistent customer=Kunde people=Leute team=Gruppe order=Auftrag orders=Aufträge letter=Brief note=Notiz notes=Notizen report=Bericht
draft=Entwurf question=Frage plan=Plan plans=Pläne release=Veröffentlichung branch=Zweig server=Server database=Datenbank account=Konto budget=Budget step=Schritt
picture=Bild pictures=Bilder word=Wort words=Wörter begin=anfangen begins=beginnt border=Grenze brings=bringt broken=kaputt button=Knopf came=kam card=Karte
carry=tragen case=Fall cash=Bargeld certain=sicher clean=sauber cost=Kosten cut=schneiden cuts=schneidet cover=decken decide=entscheiden decides=entscheidet
desk=Tisch dump=Abzug empty=leeren emptied=geleert end=Ende ends=endet enter=eintragen error=Fehler evidence=Beweis existing=vorhandene fault=Fehler five=fünf
four=vier six=sechs eight=acht nine=neun ten=zehn free=frei full=voll green=grün grow=wachsen hand=Hand hang=hängen head=Kopf heap=Halde image=Abbild images=Abbilder
insure=versichern job=Aufgabe jobs=Aufgaben kind=Art language=Sprache large=groß laptop=Rechner later=später limit=Grenze load=laden loss=Verlust machine=Maschine
machines=Maschinen manner=Weise market=Markt merged=zusammengeführt money=Geld newer=neuere nowhere=nirgends offer=anbieten ours=unseren outside=außerhalb
paid=bezahlt pallet=Palette partner=Partner pay=zahlen payment=Zahlung point=Punkt points=Punkte port=Hafen process=Vorgang project=Projekt protected=geschützt
record=Aufzeichnung red=rot refund=erstatten repeat=wiederholen request=Anfrage requests=Anfragen return=zurückgeben right=richtig root=Wurzel row=Reihe rows=Reihen
running=laufend sales=Verkauf screen=Bildschirm second=zweite settled=geklärt shared=geteilt sheet=Blatt short=kurz single=einzeln slow=langsam speed=Tempo
state=Zustand stored=gespeichert sub=Unter surely=sicherlich talk=reden tables=Tabellen target=Ziel ticket=Vorgang tickets=Vorgänge times=Male together=zusammen
tone=Ton try=versuchen upper=obere variant=Variante voice=Stimme warning=Warnung way=Weg whatever=was weight=Gewicht window=Fenster winter=Winter yours=deine
again=wieder ahead=voraus anybody=irgendwer away=weg back=zurück behind=hinter beside=neben beyond=darüber computed=berechnet count=zählen counts=zählt
customer's=Kunden despite=trotz either=entweder english=Englisch german=Deutsch euros=Euro everybody=jeder exactly=genau failed=gescheitert feed=Zufuhr figure=Zahl
half=halb higher=höhere itself=selbst month's=Monats much=viel nobody's=niemandes often=oft passed=bestanden polite=höflich private=privat produces=erzeugt
rather=lieber since=seit somebody=jemand soon=bald sunday=Sonntag monday=Montag thursday=Donnerstag friday=Freitag january=Januar march=März june=Juni july=Juli
themselves=selbst too=auch twice=zweimal upgrade=Aktualisierung whenever=wann whoever=wer whom=wen whose=wessen which=welche time=Zeit place=Ort part=Teil
whole=ganze without=ohne instead=stattdessen`
	list := map[string]string{}
	for _, pair := range strings.Fields(pairs) {
		word, german, _ := strings.Cut(pair, "=")
		list[word] = german
	}
	return list
}
