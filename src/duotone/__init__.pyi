from .client.connect import connect as connect
from .errors import AnswerWarning as AnswerWarning
from .errors import DuotoneError as DuotoneError
from .errors import Infeasible as Infeasible
from .errors import OverBudget as OverBudget
from .graphs.graph import ColouredGraph as ColouredGraph
from .graphs.mechanism import Mechanism as Mechanism
from .graphs.morphism import Morphism as Morphism
from .graphs.optimum import design as design
from .graphs.truth_table import TruthTable as TruthTable
from .ledger.ledger import open_ledger as open_ledger
from .line.mechanism import balanced as balanced
from .line.mechanism import partition_selection as partition_selection
from .line.mechanism import with_boundary as with_boundary
from .model.cost import Charge as Charge
from .model.dataset import Dataset as Dataset
from .privacy.approx_dp import ApproxDP as ApproxDP
from .privacy.definition import PrivacyDefinition as PrivacyDefinition
from .release.audit import audit_answers as audit_answers
from .release.certificate import prove as prove
from .release.coin import Coin as Coin
from .tables.ask import ask as ask
from .tables.ask import select_groups as select_groups
from .tables.check_question import prepare as prepare
from .tables.hypotheses import share_test as share_test

__version__: str
__all__: list[str]
