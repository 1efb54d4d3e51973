"""The languages a text can be analysed for: stemmers, elided articles, stop words.

Both backends read this table: the embedded one analyses with it (``analysis``), OpenSearch gets
the same lists and the filters of the same names in its index settings. All words here are
folded, that is in lower case and without accents, because stop words are removed after folding.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from hybrid_search.errors import choices

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Language:
    """How one language is analysed.

    ``stemmer`` is PyStemmer's name and ``opensearch_stemmer`` the ``language`` of OpenSearch's
    ``stemmer`` filter with the same algorithm (there, ``english`` is the classic Porter).
    ``articles`` are cut off before an apostrophe, ``possessive`` cuts off an English 's, and
    ``cjk`` makes pairs of neighbouring characters where a script has no spaces.
    """

    name: str
    stemmer: str | None = None
    opensearch_stemmer: str | None = None
    articles: frozenset[str] = frozenset()
    possessive: bool = False
    stop_words: frozenset[str] = frozenset()
    cjk: bool = False


def language(name: str) -> Language:
    """Look a language up. Raises ``InvalidInput`` that lists the known ones."""
    if name not in LANGUAGES:
        raise choices("language", name, LANGUAGES)
    return LANGUAGES[name]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ENGLISH = _words("""
a an and are as at be but by for if in into is it no not of on or such that the their then there
these they this to was will with
""")

_FRENCH = _words("""
a ai aie aient aies ait alors as au aucun aucune aucunes aucuns aupres auquel aura aurai auraient
aurais aurait auras aurez auriez aurions aurons auront aussi autre autres aux auxquelles auxquels
avaient avais avait avant avec avez aviez avions avons ayant ayez ayons c car ce ceci cela celle
celles celui cependant ces cet cette ceux chaque chez ci comme d dans de deja depuis des desquels
desquelles donc dont du duquel elle elles en encore entre es est et etaient etais etait etant ete
etes etiez etions eu eue eues eumes eurent eus eusse eussent eut eutes eux fumes furent fus fusse
fussent fut futes ici il ils j je jusqu jusque l la laquelle le lequel les lesquelles lesquels leur
leurs lorsqu lorsque lui m ma mais me meme memes mes mien mienne miennes miens moi mon n ne ni nos
notre nous on ont or ou par parce pas pour puisqu puisque qu quand que quel quelle quelles quels
qui quoi quoique s sa sans se sera serai seraient serais serait seras serez seriez serions serons
seront ses si sien sienne siennes siens soi soient sois soit sommes son sont sous soyez soyons
suis sur t ta te tel telle telles tels tes tien tienne tiennes tiens toi ton tous tout toute
toutes tu un une vers voici voila vos votre vous y
""")

_GERMAN = _words("""
aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes
andern anders auch auf aus bei beim bin bis bist da dabei damit dann das dass dasselbe dazu dein
deine deinem deinen deiner deines dem demselben den denen denn denselben der deren derer derselbe
derselben des desselben dessen dich die dies diese dieselbe dieselben diesem diesen dieser dieses
dir doch dort du durch ein eine einem einen einer eines einig einige einigem einigen einiger
einiges einmal er es etwas euch euer eure eurem euren eurer eures fur gegen gewesen hab habe haben
hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im in indem ins
ist jede jedem jeden jeder jedes jene jenem jenen jener jenes jetzt kann kein keine keinem keinen
keiner keines konnen konnte konnten machen man manche manchem manchen mancher manches mein meine
meinem meinen meiner meines mich mir mit muss musste nach nicht nichts noch nun nur ob oder ohne
sehr sein seine seinem seinen seiner seines selbst sich sie sind so solche solchem solchen solcher
solches soll sollte sondern sonst uber um und uns unse unsem unsen unser unsere unserem unseren
unses unter viel vom von vor wahrend war waren warst was weg weil weiter welche welchem welchen
welcher welches wenn werde werden wie wieder will wir wird wirst wo wollen wollte wurde wurden
wurdest zu zum zur zwar zwischen
""")

_SPANISH = _words("""
a al algo algun alguna algunas alguno algunos ante antes aquel aquella aquellas aquello aquellos
asi aun aunque bajo cada como con contra cual cuales cuando cuya cuyas cuyo cuyos de del desde
donde dos durante e el ella ellas ello ellos en entre era erais eramos eran eras eres es esa esas
ese eso esos esta estaba estabamos estaban estabas estad estado estais estamos estan estando estar
estara estaran estas este esten esto estos estoy estuve estuvieron estuvo fue fuera fueran fueron
fui fuimos fuiste ha habeis haber habia habian habida habido habiendo habra han has hasta hay haya
hayan he hemos hube hubieron hubo la las le les lo los mas me mi mia mias mientras mio mios mis
mucho muchos muy nada ni ningun ninguna ninguno no nos nosotras nosotros nuestra nuestras nuestro
nuestros o os otra otras otro otros para pero poco por porque pues que quien quienes se sea sean
segun ser sera seran seria si sido siendo sin sino sobre sois somos son soy su sus suya suyas suyo
suyos tal tales tambien tan tanto te tendra tenemos tener tenga tengo tenia ti tiene tienen todo
todos tu tus tuve tuvieron tuvo tuya tuyas tuyo tuyos u un una unas uno unos vosotras vosotros
vuestra vuestras vuestro vuestros y ya yo
""")

_ITALIAN = _words("""
a abbia abbiamo abbiano ad agl agli ai al alcun alcuna alcune alcuni alcuno all alla alle allo
altra altre altri altro anche ancora avemmo avendo avere avesse avessero avete aveva avevamo
avevano avevi avevo avra avranno avrebbe avrei avro avuta avute avuti avuto c che chi ci cio coi
col come con contro cui d da dagl dagli dai dal dall dalla dalle dallo de degl degli dei del dell
della delle dello di dopo dove dunque e ebbe ebbero ebbi ed era erano eravamo eravate eri ero
essendo essere fa facendo fanno fara fece fino fosse fossero fossi fra fu fui fummo furono gia gl
gli ha hai hanno ho i il in io l la le lei li lo loro lui m ma me meno mentre mi mia mie miei mio
molta molte molti molto ne negl negli nei nel nell nella nelle nello noi non nostra nostre nostri
nostro o ogni oppure ove per perche piu po poi poiche pure qual quale quali quando quanta quante
quanti quanto quasi quella quelle quelli quello questa queste questi questo qui quindi s sara
saranno sarebbe sarei saro se sei senza si sia siamo siano siate siete sono sopra sotto sta stata
state stati stato stava su sua sue sugl sugli sui sul sull sulla sulle sullo suo suoi t tale tali
tra tu tua tue tuo tuoi tutta tutte tutti tutto un una uno v vi voi vostra vostre vostri vostro
""")

_PORTUGUESE = _words("""
a ainda alem algo alguem algum alguma algumas alguns ante antes ao aos apos aquela aquelas aquele
aqueles aquilo as assim ate cada com como contra cuja cujas cujo cujos da daquela daquele das de
dela delas dele deles depois desde dessa desse desta deste do dos durante e ela elas ele eles em
enquanto entao entre era eram eramos essa essas esse esses esta estamos estao estar estas estava
estavam estavamos este esteja estejam estes esteve estive estiveram estou eu foi fomos for foram
fosse fossem fui ha haja hajam hao havemos haver havia hei houve houveram isso isto ja la lhe lhes
logo mais mas me mesma mesmas mesmo mesmos meu meus minha minhas muito muitos na nao naquela
naquele nas nem nenhum nenhuma nessa nesse nesta neste no nos nossa nossas nosso nossos num numa
o onde os ou outra outras outro outros para pela pelas pelo pelos per perante pois por porem
porque portanto pouco qual quais qualquer quando quanto que quem sao se seja sejam sem sempre sendo
ser sera serao seria seriam seu seus si sido so sob sobre somos sou sua suas tal tambem tampouco
tanto te tem temos tenha tenham tenho ter tera terao teu teus teve ti tido tinha tinham tive
tiveram todo toda todos todas tu tua tuas tudo um uma umas uns voce voces vos vossa vossas vosso
vossos
""")

_FRENCH_ARTICLES = _words("c d j jusqu l lorsqu m n puisqu qu quoiqu s t")
_ITALIAN_ARTICLES = _words(
    "agl all c coll d dagl dall degl dell gl l m negl nell pell s sugl sull t un v"
)

LANGUAGES: Mapping[str, Language] = MappingProxyType(
    {
        each.name: each
        for each in (
            Language("standard"),
            Language("english", "porter", "english", possessive=True, stop_words=_ENGLISH),
            Language("french", "french", "french", _FRENCH_ARTICLES, stop_words=_FRENCH),
            Language("german", "german", "german", stop_words=_GERMAN),
            Language("spanish", "spanish", "spanish", stop_words=_SPANISH),
            Language("italian", "italian", "italian", _ITALIAN_ARTICLES, stop_words=_ITALIAN),
            Language("portuguese", "portuguese", "portuguese", stop_words=_PORTUGUESE),
            Language("cjk", cjk=True),
        )
    }
)
