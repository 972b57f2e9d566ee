(** An average of nobody is above no limit: "is the sum at least c, and is there somebody?" as a sum again (`somebody`).

    Each score s becomes s*crowd + 1 and the limit c becomes c*crowd + 1. For c >= 0 and at most [crowd] people the answers are
    the same. So levels are exact as long as the walks they speak of lead to no larger crowd; where c = 0, as for averages and
    shares, that is so for every table of less than half of it. For c > 0 there is one exception: where nothing makes it a yes,
    the sum may say that a crowd of newcomers would, and the level is far below 0 instead of [never]. *)

From Coq Require Import ZArith Lia Bool List Permutation.
From Duotone Require Import Graph Levels Sums Fewest Threshold Scores.
Import ListNotations.
Open Scope Z_scope.

Definition somebody crowd s := s * crowd + 1.

(** *** Questions that agree nearby *)

Lemma flips_agree {G : graph} (q q' : G -> bool) a n : (forall m b, (m <= n)%nat -> walk m b a -> q b = q' b) ->
  flips q a (Some n) -> flips q' a (Some n).
Proof.
  intros S ((b & Hb & W) & M). assert (E : q a = q' a) by (apply (S 0%nat); [lia | constructor]).
  split; [exists b; rewrite <- E, <- (S n b); auto|].
  intros m e He V. destruct (Nat.le_gt_cases n m) as [|L]; [assumption|]. apply (M _ e); [|assumption].
  rewrite E, (S m e); [assumption | lia | assumption].
Qed.

(** Changes to the other answer, from a level. *)
Definition changes z := if 0 <=? z then z + 1 else - z.

Lemma changes_flip {G : graph} (q : G -> bool) a n z :
  flips q a (Some n) -> finite z = level_of (q a) (Some n) -> changes z = Z.of_nat n.
Proof.
  intros F E; destruct n as [| n]; [destruct F as ((b & Hb & W) & _); apply walk_none in W; congruence|].
  assert (I : forall u, finite z = finite u -> z = u) by congruence.
  unfold changes; destruct (q a); apply I in E; destruct (Z.leb_spec 0 z); lia.
Qed.

Section Somebody.
Context {person : Type} (r : relation) (score : person -> Z) (at_least crowd : Z).
Hypothesis limit_least : 0 <= at_least.

Definition present (a : list person) := match a with [] => false | _ => true end.
Definition enough_and_somebody a := enough score at_least a && present a.
Definition encoded := enough (fun p => somebody crowd (score p)) (somebody crowd at_least).

Notation G := (people person r enough_and_somebody).
Notation size a := (Z.of_nat (length a)).

Lemma somebody_sum a : sum (fun p => somebody crowd (score p)) a = sum score a * crowd + size a.
Proof. unfold somebody; induction a; simpl sum; simpl length; lia. Qed.

(** The answers are the same. *)
Lemma somebody_same a : size a <= crowd -> encoded a = enough_and_somebody a.
Proof.
  unfold encoded, enough_and_somebody, enough; rewrite somebody_sum; unfold somebody; intros L. destruct a as [| p a].
  - simpl present; rewrite andb_false_r. apply Z.leb_gt; simpl sum; simpl length in *; nia.
  - simpl present; rewrite andb_true_r. assert (1 <= size (p :: a)) by (simpl length; lia).
    destruct (Z.leb_spec at_least (sum score (p :: a))); [apply Z.leb_le | apply Z.leb_gt]; nia.
Qed.

Lemma walk_size n (a b : G) : walk n a b -> size a <= size b + Z.of_nat n /\ (r = replace -> size a = size b).
Proof.
  induction 1 as [| n a b e W [IH IH'] E]; [lia|]. simpl in E; destruct r; simpl in *.
  - split; [|discriminate]. destruct E as (p & [E | E]); apply Permutation_length in E; simpl in E; lia.
  - destruct E as (p & q & d & E & E'); apply Permutation_length in E, E'; simpl in *. split; [lia|].
    intros _; specialize (IH' eq_refl); lia.
Qed.

(** So are the distances, up to that of larger crowds. *)
Theorem somebody_flips (a : G) n : size a + Z.of_nat n <= crowd ->
  flips (encoded : G -> bool) a (Some n) <-> flips (enough_and_somebody : G -> bool) a (Some n).
Proof.
  intros L; split; apply flips_agree; intros m b M W; [|symmetry];
    apply somebody_same; apply walk_size in W as [W _]; lia.
Qed.

Theorem somebody_exact (a : G) z : size a + changes z <= crowd ->
  exact (encoded : G -> bool) a (finite z) <-> exact (enough_and_somebody : G -> bool) a (finite z).
Proof.
  intros L. assert (0 <= changes z) by (unfold changes; destruct (Z.leb_spec 0 z); lia).
  assert (Q : encoded a = enough_and_somebody a) by (apply somebody_same; lia).
  split; intros ([n|] & F & E); try (destruct encoded, enough_and_somebody; discriminate); exists (Some n);
    pose proof (changes_flip _ _ _ _ F E).
  - rewrite <- somebody_flips by lia. rewrite <- Q; auto.
  - rewrite somebody_flips by lia. rewrite Q; auto.
Qed.

(** Under replace nobody comes: infinite levels are exact, too. *)
Theorem somebody_replaced (a : G) x : r = replace -> size a <= crowd ->
  exact (encoded : G -> bool) a x -> exact (enough_and_somebody : G -> bool) a x.
Proof.
  intros R L ([n|] & F & ->).
  - exists (Some n); rewrite somebody_same by assumption; split; [|reflexivity]. revert F; apply flips_agree.
    intros m b _ W; apply somebody_same. apply walk_size in W as [_ W]; rewrite W; assumption.
  - exists None; rewrite somebody_same by assumption; split; [|reflexivity].
    intros n b Hb W. apply (F n b); [|assumption]. rewrite !somebody_same; trivial.
    apply walk_size in W as [_ W]; rewrite W; assumption.
Qed.

End Somebody.

(** *** The level, as the code has it *)

Definition level_with_somebody r crowd lowest highest at_least values :=
  level_of_scores r (somebody crowd lowest) (somebody crowd highest) (somebody crowd at_least)
    (map (fun v => somebody crowd (clipped lowest highest v)) values).

Section Level.
Variables (r : relation) (crowd lowest highest at_least : Z).
Hypothesis crowd_least : 0 <= crowd.
Hypothesis bounds : lowest <= highest.
Hypothesis limit_least : 0 <= at_least.

Let truth := enough_and_somebody (clipped lowest highest) at_least.
Notation G := (people Z r truth).
Notation level a := (level_with_somebody r crowd lowest highest at_least a).
Notation size a := (Z.of_nat (length a)).

Lemma encoded_exact (a : G) : exact (encoded (clipped lowest highest) at_least crowd : G -> bool) a (level a).
Proof.
  unfold level_with_somebody. apply (level_exact r _ _ _ (fun v => somebody crowd (clipped lowest highest v)) lowest highest).
  - intros v; pose proof (clipped_between lowest highest v bounds); unfold somebody; nia.
  - rewrite clipped_low; reflexivity.
  - rewrite clipped_high by assumption; reflexivity.
Qed.

(** For whatever people and values the level is private. *)
Theorem level_with_somebody_levelling {person} (value : person -> Z) :
  (forall a b : list person, neighbours r a b -> within 1 (level (map value a)) (level (map value b))) /\
  forall a, size a <= crowd -> yes (level (map value a)) = truth (map value a).
Proof.
  split.
  - intros a b E; apply (neighbours_map r value) in E.
    exact (exact_smooth _ (map value a : G) (map value b : G) _ _ E (encoded_exact _) (encoded_exact _)).
  - intros a L. rewrite (exact_side _ _ _ (encoded_exact (map value a))). apply somebody_same; [assumption|].
    rewrite map_length; assumption.
Qed.

(** It is the distance as long as that keeps within the crowd. *)
Theorem level_with_somebody_exact (a : G) z : level a = finite z -> size a + changes z <= crowd ->
  exact (truth : G -> bool) a (finite z).
Proof.
  intros E L. apply somebody_exact with crowd; trivial. rewrite <- E. apply encoded_exact.
Qed.

Theorem level_with_somebody_replaced (a : G) : r = replace -> size a <= crowd -> exact (truth : G -> bool) a (level a).
Proof. intros R L. apply somebody_replaced with crowd; trivial. apply encoded_exact. Qed.

(** A level that speaks of a larger crowd, or of none, is right in that the other answer is that far. *)
Theorem level_with_somebody_far (a : G) : (forall z, level a = finite z -> crowd < size a + changes z) ->
  forall n (b : G), truth b <> truth a -> walk n b a -> crowd < size a + Z.of_nat n.
Proof.
  intros H n b Hb W. apply Z.lt_nge; intros L. pose proof (walk_size r _ _ _ _ _ W) as [S _].
  unfold truth in Hb; rewrite <- !(somebody_same _ _ crowd) in Hb by (assumption || lia).
  destruct (encoded_exact a) as ([k|] & F & E); [|destruct (F n b Hb W)].
  assert (k <= n)%nat by (destruct F as [_ M]; apply (M n b Hb W)).
  destruct (level a) as [| z |] eqn:V; try (clear - E; destruct encoded; discriminate).
  pose proof (changes_flip _ _ _ _ F E). specialize (H z eq_refl). lia.
Qed.

End Level.

Section AddRemove.
Variables (crowd lowest highest at_least : Z).
Hypothesis crowd_least : 0 <= crowd.
Hypothesis bounds : lowest <= highest.
Hypothesis limit_least : 0 <= at_least.

Let truth := enough_and_somebody (clipped lowest highest) at_least.
Notation G := (people Z add_remove truth).
Notation level a := (level_with_somebody add_remove crowd lowest highest at_least a).
Notation size a := (Z.of_nat (length a)).

Lemma all_leave (a : G) : walk (length a) ([] : G) a.
Proof. induction a as [| p a IH]; simpl; [constructor | eapply further; [exact IH | exists p; right; reflexivity]]. Qed.

(** A yes ends at the latest when all have left: half a crowd is few enough. *)
Theorem level_with_somebody_yes (a : G) : truth a = true -> 2 * size a <= crowd -> exact (truth : G -> bool) a (level a).
Proof.
  intros Y L. destruct (encoded_exact add_remove crowd lowest highest at_least crowd_least bounds a) as (d & F & ->).
  assert (N : encoded (clipped lowest highest) at_least crowd [] <> encoded (clipped lowest highest) at_least crowd a).
  { rewrite !somebody_same by (simpl; lia || assumption). fold truth; rewrite Y.
    unfold truth, enough_and_somebody; simpl; rewrite andb_false_r; discriminate. }
  destruct d as [n|]; [|destruct (F _ ([] : G) N (all_leave a))].
  assert (n <= length a)%nat by (destruct F as [_ M]; apply (M _ ([] : G) N), all_leave).
  exists (Some n). rewrite somebody_same by (assumption || lia). split; [|reflexivity].
  apply somebody_flips with crowd; [assumption | lia | exact F].
Qed.

End AddRemove.

(** Averages and shares, which are compared with 0, are exact on both sides: a no ends at the latest when all have left and
    somebody with the highest score has come; if that is below 0, nothing ends it. *)
Section Zero.
Variables (crowd lowest highest : Z).
Hypothesis bounds : lowest <= highest.

Let truth := enough_and_somebody (clipped lowest highest) 0.
Let sum_says := encoded (clipped lowest highest) 0 crowd.
Notation G := (people Z add_remove truth).
Notation level a := (level_with_somebody add_remove crowd lowest highest 0 a).
Notation size a := (Z.of_nat (length a)).

Lemma one_comes (a : G) : walk (S (length a)) ([highest] : G) a.
Proof. apply walk_first with ([] : G); [exists highest; left; reflexivity | apply all_leave]. Qed.

Lemma one_is_enough : 0 <= highest -> truth [highest] = true.
Proof.
  intros H; unfold truth, enough_and_somebody, enough; simpl. rewrite clipped_high by assumption.
  rewrite andb_true_r. apply Z.leb_le; lia.
Qed.

Lemma all_below_zero b : highest < 0 -> 1 <= crowd -> truth b = false /\ sum_says b = false.
Proof.
  intros H C. assert (N : sum (clipped lowest highest) b <= - size b).
  { induction b as [| v b IH]; [reflexivity|]. pose proof (clipped_between lowest highest v bounds).
    change (sum (clipped lowest highest) (v :: b)) with (clipped lowest highest v + sum (clipped lowest highest) b).
    simpl length; lia. }
  split.
  - destruct b; [reflexivity|]. apply andb_false_intro1, Z.leb_gt. simpl length in N; lia.
  - apply Z.leb_gt. rewrite somebody_sum; unfold somebody. nia.
Qed.

Theorem level_with_somebody_zero (a : G) : 2 * size a + 1 <= crowd -> exact (truth : G -> bool) a (level a).
Proof.
  intros L. destruct (truth a) eqn:Y; [apply level_with_somebody_yes; trivial; lia|].
  assert (C : 0 <= crowd) by lia. destruct (encoded_exact add_remove crowd lowest highest 0 C bounds a) as (d & F & ->).
  fold sum_says in F |- *. assert (Q : sum_says a = truth a) by (apply somebody_same; lia). rewrite Q.
  exists d; split; [|reflexivity]. destruct (Z.lt_ge_cases highest 0) as [H | H].
  - assert (N : forall b, truth b = false /\ sum_says b = false) by (intros b; apply all_below_zero; lia).
    destruct d as [n|]; [destruct F as ((b & Hb & _) & _) | intros n b Hb]; destruct (N a), (N b); congruence.
  - assert (N : sum_says [highest] <> sum_says a).
    { rewrite Q, Y. unfold sum_says; rewrite somebody_same by (simpl length; lia). fold truth.
      rewrite one_is_enough by assumption. discriminate. }
    destruct d as [n|]; [|destruct (F _ ([highest] : G) N (one_comes a))].
    assert (n <= S (length a))%nat by (destruct F as [_ M]; apply (M _ ([highest] : G) N), one_comes).
    apply somebody_flips with crowd; [lia | lia | exact F].
Qed.
End Zero.

(** *** Where nothing makes it a yes, the sum still hopes for a crowd: all count for nothing, and 1 is wanted *)

Example never_said_as_far : level_with_somebody add_remove 3 0 0 1 [] = finite (-4).
Proof. reflexivity. Qed.

Example never_in_truth (a : people Z add_remove (enough_and_somebody (clipped 0 0) 1)) : exact blue a never.
Proof.
  assert (N : forall b, enough_and_somebody (clipped 0 0) 1 b = false).
  { intros b; unfold enough_and_somebody, enough.
    replace (sum (clipped 0 0) b) with 0; [reflexivity|]. induction b as [| v b IH]; simpl; [reflexivity|].
    pose proof (clipped_between 0 0 v); lia. }
  exists None; simpl; rewrite N; split; [|reflexivity]. intros n b; simpl; rewrite !N; congruence.
Qed.
